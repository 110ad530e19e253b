// The two traces as aligned lanes: a list that draws only the rows in view, whatever its length.

const ROW_HEIGHT = 54;
const OVERSCAN = 8;
const CONTEXT_ROWS = 2;
const MOST_PRINTED = 120;

class Lanes {
  constructor(root, rows, prefix, onSelect) {
    this.rows = rows;
    this.prefix = prefix;
    this.onSelect = onSelect;
    this.list = root.querySelector(".list");
    this.content = root.querySelector(".rows");
    this.map = root.querySelector(".map");
    this.shown = Int32Array.from({ length: rows.count }, (_, row) => row);
    this.selected = NONE;
    this.drawn = null;
    this.isPrinting = false;
    this.list.addEventListener("scroll", () => this.drawSoon());
    this.content.addEventListener("click", (event) => this.click(event));
    this.map.addEventListener("pointerdown", (event) => this.jump(event));
    new ResizeObserver(() => this.refresh()).observe(this.list);
  }

  show(shown) {
    this.shown = shown;
    this.refresh();
  }

  refresh() {
    this.drawn = null;
    this.content.style.height = `${this.shown.length * ROW_HEIGHT}px`;
    this.draw();
    this.drawMap();
  }

  drawSoon() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  draw() {
    const visible = Math.ceil(this.list.clientHeight / ROW_HEIGHT) + 1;
    const top = Math.floor(this.list.scrollTop / ROW_HEIGHT);
    const from = Math.max(0, top - OVERSCAN);
    const to = Math.min(this.shown.length, top + visible + OVERSCAN);
    const key = `${from} ${to} ${this.selected} ${this.isPrinting}`;
    if (key === this.drawn) return;
    this.drawn = key;
    this.content.replaceChildren(...this.nodes(from, to));
    this.markActive();
  }

  nodes(from, to) {
    if (this.shown.length === 0) return [make("p", { class: "empty" }, "No event fits.")];
    const nodes = [];
    for (let position = from; position < to; position += 1) nodes.push(this.rowNode(position));
    return nodes;
  }

  rowNode(position) {
    const entry = this.rows.at(this.shown[position]);
    const isFirst = position === 0 || this.rows.at(this.shown[position - 1]).step !== entry.step;
    const isSelected = entry.row === this.selected;
    const { name, word } = STANDINGS[entry.standing];
    const lacking = lackingSide(entry);
    const node = make(
      "div",
      {
        class: `row ${name}${isSelected ? " selected" : ""}${isFirst ? " new-step" : ""}`,
        role: "option",
        id: `${this.prefix}-row-${entry.row}`,
        "aria-selected": isSelected,
        "aria-setsize": this.shown.length,
        "aria-posinset": position + 1,
        "aria-label": rowLabel(entry, word, lacking),
        "data-row": entry.row,
      },
      make("span", { class: "step" }, isFirst ? String(entry.step) : ""),
      sideCell(entry, entry.left, "left"),
      make(
        "span",
        { class: "between" },
        standingPill(entry),
        lacking ? make("span", { class: "lone" }, lacking) : null,
      ),
      sideCell(entry, entry.right, "right"),
    );
    node.style.top = `${position * ROW_HEIGHT}px`;
    return node;
  }

  markActive() {
    const id = `${this.prefix}-row-${this.selected}`;
    if (document.getElementById(id)) this.list.setAttribute("aria-activedescendant", id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  click(event) {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    this.list.focus({ preventScroll: true });
    this.select(Number(row.dataset.row), { isOpened: true });
  }

  select(row, { isOpened = false, isCentred = false } = {}) {
    this.selected = row;
    const position = this.position(row);
    if (position !== NONE) this.reveal(position, isCentred);
    this.draw();
    this.onSelect(row, isOpened);
  }

  // Where a row stands among those shown; they are in ascending order.
  position(row) {
    const place = this.placeOf(row);
    return this.shown[place] === row ? place : NONE;
  }

  placeOf(row) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  reveal(position, isCentred) {
    const top = position * ROW_HEIGHT;
    const height = this.list.clientHeight;
    const context = CONTEXT_ROWS * ROW_HEIGHT;
    const from = this.list.scrollTop;
    const isInside = top >= from && top + ROW_HEIGHT <= from + height;
    if (isCentred) this.list.scrollTop = top - context;
    else if (!isInside && top < from) this.list.scrollTop = top - ROW_HEIGHT;
    else if (!isInside) this.list.scrollTop = top + 2 * ROW_HEIGHT - height;
  }

  move(by) {
    if (this.shown.length === 0) return;
    const known = this.position(this.selected);
    const from = known === NONE ? this.placeOf(this.selected) - (by > 0 ? 1 : 0) : known;
    const to = Math.min(this.shown.length - 1, Math.max(0, from + by));
    this.select(this.shown[to]);
  }

  page(direction) {
    this.move(direction * Math.max(1, Math.floor(this.list.clientHeight / ROW_HEIGHT) - 1));
  }

  // The next divergence before or after the selected row; false where there is none.
  moveToDivergence(direction) {
    let position = this.position(this.selected);
    if (position === NONE) position = this.placeOf(this.selected) - (direction > 0 ? 1 : 0);
    for (position += direction; position >= 0 && position < this.shown.length; ) {
      if (this.rows.diverges(this.shown[position])) {
        this.select(this.shown[position]);
        return true;
      }
      position += direction;
    }
    return false;
  }

  drawMap() {
    const height = this.map.clientHeight;
    const fits = this.shown.length * ROW_HEIGHT <= this.list.clientHeight;
    this.map.style.visibility = fits ? "hidden" : "";
    if (!height || !this.shown.length) return;
    this.map.height = height;
    const context = this.map.getContext("2d");
    const style = getComputedStyle(this.map);
    const size = Math.max(2, height / this.shown.length);
    // Origins last, so that nothing hides them.
    for (const [standing, colour] of [[3, style.outlineColor], [2, style.color]]) {
      context.fillStyle = colour;
      this.shown.forEach((row, position) => {
        if (this.rows.columns.standing[row] !== standing) return;
        context.fillRect(0, (position / this.shown.length) * height, 10, size);
      });
    }
  }

  jump(event) {
    const box = this.map.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    this.list.scrollTop = share * this.content.clientHeight - this.list.clientHeight / 2;
  }

  // On paper the rows from shortly before the selected one stand in the flow of the page.
  print(isPrinting) {
    this.isPrinting = isPrinting;
    this.drawn = null;
    if (!isPrinting) return this.refresh();
    const start = Math.max(0, this.placeOf(this.rows.firstDivergent()) - 5);
    const from = this.shown.length <= MOST_PRINTED ? 0 : start;
    const to = Math.min(this.shown.length, from + MOST_PRINTED);
    const left = this.shown.length - (to - from);
    const note = left ? [make("p", { class: "empty" }, `${left} further events, not printed`)] : [];
    this.content.replaceChildren(...this.nodes(from, to), ...note);
    return undefined;
  }
}

function sideCell(entry, side, name) {
  if (!side) return make("span", { class: `side ${name} lacking` }, "no such event");
  const isShared = !entry.diverges && name === "right";
  return make(
    "span",
    { class: `side ${name}${isShared ? " shared" : ""}` },
    make(
      "span",
      { class: "what" },
      make("span", { class: "id" }, side.id),
      make("span", { class: "type" }, side.type),
    ),
    make("span", { class: "note" }, noteNodes(entry, side)),
  );
}

function noteNodes(entry, side) {
  if (!side.note) return [side.component, entry.lane ? ` ${entry.lane}` : ""];
  return [make("span", { class: "field" }, `${entry.field}: `), make("span", { class: "value" }, side.note)];
}

function rowLabel(entry, word, lacking) {
  const event = entry.left ?? entry.right;
  const found = entry.diverges && entry.field ? `, ${entry.field}` : "";
  const side = lacking ? `, ${lacking} has it` : "";
  return `${event.id} ${event.component} ${event.type}, step ${event.step}: ${word}${side}${found}`;
}
