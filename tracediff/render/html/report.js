// Puts a page together: one browser for each comparison, made when it is opened; keys; theme.

const THEMES = ["auto", "light", "dark"];
const SEARCH_DELAY = 120;
const ONLY_LEFT = 4;
const ONLY_RIGHT = 5;
// `total` counts all events of the traces, of which not all need have a row.
const FILTERS = [
  { word: "All", glyph: "", fits: () => true, total: (rows) => rows.total },
  {
    word: "Divergences",
    glyph: "",
    fits: (rows, row) => rows.diverges(row),
    total: (rows) => rows.totals[2] + rows.totals[3],
  },
  ...[2, 3, 1, 0].map((standing) => ({
    word: STANDINGS[standing].word,
    glyph: STANDINGS[standing].glyph,
    name: STANDINGS[standing].name,
    fits: (rows, row) => rows.columns.standing[row] === standing,
    total: (rows) => rows.totals[standing],
  })),
  {
    word: "only left",
    glyph: "◁",
    fits: (rows, row) => !rows.hasRight(row),
    total: (rows) => rows.totals[ONLY_LEFT],
  },
  {
    word: "only right",
    glyph: "▷",
    fits: (rows, row) => !rows.hasLeft(row),
    total: (rows) => rows.totals[ONLY_RIGHT],
  },
];

function countText(count, total) {
  const number = (value) => value.toLocaleString("en");
  return count === total ? number(count) : `${number(count)} of ${number(total)} shown`;
}

class Browser {
  constructor(section, rows) {
    this.rows = rows;
    this.filter = FILTERS[0];
    this.component = NONE;
    this.query = "";
    const template = document.getElementById("browser");
    this.root = template.content.cloneNode(true).querySelector(".browser");
    section.append(this.root);
    this.article = this.root.querySelector(".event");
    this.status = this.root.querySelector("[role=status]");
    this.search = this.root.querySelector("input");
    this.root.querySelector(".left-name").textContent = `left ${rows.names[0]}`;
    this.root.querySelector(".right-name").textContent = `right ${rows.names[1]}`;
    this.lanes = new Lanes(this.root, rows, section.id, (row, opened) => this.open(row, opened));
    this.addFilters();
    this.addComponents();
    this.listen();
    this.refresh();
    this.lanes.select(rows.firstDivergent(), { isCentred: true });
  }

  open(row, isOpened) {
    showEvent(this.article, this.rows, row);
    this.article.querySelector(".close").addEventListener("click", () => this.close());
    if (!isOpened) return;
    this.root.classList.add("reading");
    if (this.isNarrow()) this.article.focus({ preventScroll: true });
  }

  close() {
    if (!this.root.classList.contains("reading")) return;
    this.root.classList.remove("reading");
    this.lanes.list.focus({ preventScroll: true });
  }

  isNarrow() {
    return getComputedStyle(this.article).position === "fixed";
  }

  addFilters() {
    const group = this.root.querySelector(".filters");
    for (const filter of FILTERS) {
      let count = 0;
      for (let row = 0; row < this.rows.count; row += 1) count += filter.fits(this.rows, row);
      const button = make(
        "button",
        { type: "button", class: `filter ${filter.name ?? ""}`, "aria-pressed": false },
        filter.glyph ? make("span", { class: "glyph", "aria-hidden": "true" }, filter.glyph) : null,
        ` ${filter.word[0].toUpperCase()}${filter.word.slice(1)} `,
        make("span", { class: "count" }, countText(count, filter.total(this.rows))),
      );
      button.hidden = filter.total(this.rows) === 0;
      button.addEventListener("click", () => {
        this.filter = filter;
        this.refresh();
      });
      group.append(button);
    }
  }

  addComponents() {
    const select = this.root.querySelector("select");
    const names = [...new Set(this.rows.columns.component)];
    names.sort((a, b) => (this.rows.strings[a] < this.rows.strings[b] ? -1 : 1));
    select.append(make("option", { value: NONE }, "All components"));
    select.append(...names.map((n) => make("option", { value: n }, this.rows.strings[n])));
    select.addEventListener("change", () => {
      this.component = Number(select.value);
      this.refresh();
    });
  }

  listen() {
    const hasDivergences = this.rows.columns.standing.some((standing) => standing >= FIRST_DIVERGENT);
    this.root.querySelector(".steps").hidden = !hasDivergences;
    const redraw = () => this.lanes.drawMap();
    addEventListener("themechange", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    let timer = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.query = this.search.value.trim().toLowerCase();
        this.refresh();
      }, SEARCH_DELAY);
    });
    for (const [name, direction] of [["previous", -1], ["next", 1]]) {
      const button = this.root.querySelector(`.${name}`);
      button.addEventListener("click", () => this.step(direction));
    }
    const effect = this.root.querySelector(".effect");
    effect.hidden = this.rows.visible === null;
    effect.addEventListener("click", () => this.showEffect());
  }

  showEffect() {
    if (this.rows.visible === null) return;
    if (this.lanes.position(this.rows.visible) === NONE) this.filter = FILTERS[0];
    this.refresh();
    this.lanes.select(this.rows.visible);
  }

  step(direction) {
    if (this.lanes.moveToDivergence(direction)) return;
    this.say(`no divergence ${direction > 0 ? "after" : "before"} this event`);
  }

  refresh() {
    const shown = [];
    for (let row = 0; row < this.rows.count; row += 1) if (this.fits(row)) shown.push(row);
    [...this.root.querySelectorAll(".filter")].forEach((button, place) =>
      button.setAttribute("aria-pressed", FILTERS[place] === this.filter),
    );
    this.lanes.show(Int32Array.from(shown));
    const position = this.lanes.position(this.lanes.selected);
    if (position !== NONE) this.lanes.reveal(position, true);
    this.say("");
  }

  fits(row) {
    if (!this.filter.fits(this.rows, row)) return false;
    if (this.component !== NONE && this.rows.columns.component[row] !== this.component) return false;
    return !this.query || this.rows.searched(row).includes(this.query);
  }

  say(text) {
    const { count, total } = this.rows;
    const shown = this.lanes.shown.length;
    const number = (value) => value.toLocaleString("en");
    const all = `${number(shown)} of ${number(count)} events`;
    const rest = count < total ? `; this file holds ${number(count)} of ${number(total)}` : "";
    this.status.textContent = text || `${all}${rest}`;
  }

  // Long verdicts push the list down: the first divergence has to be in view all the same.
  bringIntoView() {
    const row = this.root.querySelector(".row.selected");
    if (!row) return;
    const below = row.getBoundingClientRect().bottom + 8 - window.innerHeight;
    if (below > 0) window.scrollBy(0, below);
  }

  key(event) {
    const isListFocused = [this.lanes.list, document.body].includes(document.activeElement);
    const isReading = this.article.contains(document.activeElement);
    const anywhere = {
      j: () => this.lanes.move(1),
      k: () => this.lanes.move(-1),
      n: () => this.step(1),
      p: () => this.step(-1),
      v: () => this.showEffect(),
      "/": () => this.search.focus(),
      Escape: () => this.close(),
    };
    const inList = {
      ArrowDown: anywhere.j,
      ArrowUp: anywhere.k,
      Home: () => this.lanes.move(-this.rows.count),
      End: () => this.lanes.move(this.rows.count),
      PageDown: () => this.lanes.page(1),
      PageUp: () => this.lanes.page(-1),
      Enter: () => this.lanes.select(this.lanes.selected, { isOpened: true }),
    };
    const act = anywhere[event.key] ?? (isListFocused && !isReading ? inList[event.key] : null);
    if (!act) return;
    event.preventDefault();
    act();
  }
}

class Report {
  constructor() {
    this.sections = [...document.querySelectorAll("section.comparison")];
    const index = document.querySelector("nav.index");
    this.index = index && new Index(index);
    this.browsers = new Map();
    this.opened = null;
    addEventListener("hashchange", () => this.openNamed());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.openNamed();
  }

  async openNamed() {
    const named = this.sections.find((section) => `#${section.id}` === location.hash);
    const differing = this.sections.find((section) => section.querySelector(".verdict:not(.good)"));
    await this.open(named ?? differing ?? this.sections[0]);
    if (named) named.scrollIntoView();
    // Of several comparisons the index is what a reader wants to see first.
    if (named || this.sections.length === 1) this.browsers.get(this.opened)?.bringIntoView();
  }

  async open(section) {
    this.opened = section;
    for (const other of this.sections) other.classList.toggle("closed", other !== section);
    this.index?.mark(section);
    const script = section.querySelector("script.data");
    if (this.browsers.has(section) || !script) return;
    this.browsers.set(section, null);
    try {
      const data = await readData(script);
      this.browsers.set(section, new Browser(section, new Rows(data)));
    } catch (error) {
      const text = `The events cannot be shown (${error.message}). The verdict above is complete.`;
      section.append(make("p", { class: "notice" }, text));
    }
    section.classList.add("ready");
  }

  key(event) {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.browsers.get(this.opened)?.key(event);
  }

  print(isPrinting) {
    for (const fold of document.querySelectorAll(".verdict details, .index details")) {
      if (isPrinting) fold.dataset.was = fold.open ? "open" : "";
      fold.open = isPrinting || fold.dataset.was === "open";
    }
    this.browsers.get(this.opened)?.lanes.print(isPrinting);
  }
}

function addThemeButton() {
  const button = document.querySelector("button.theme");
  let theme = 0;
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = (theme + 1) % THEMES.length;
    document.documentElement.dataset.theme = THEMES[theme];
    button.textContent = `Theme: ${THEMES[theme]}`;
    dispatchEvent(new Event("themechange"));
  });
}

addThemeButton();
new Report();
