// The data of one comparison: unpacked, and read row by row. Knows nothing of the page's looks.

const STANDINGS = [
  { name: "equal", word: "equal", glyph: "=" },
  { name: "within", word: "within tolerance", glyph: "≈" },
  { name: "origin", word: "origin", glyph: "≠" },
  { name: "downstream", word: "downstream", glyph: "↳" },
];
const FIRST_DIVERGENT = 2;
const NONE = -1;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function readData(script) {
  const text = script.textContent;
  if (!script.classList.contains("packed")) return JSON.parse(text);
  const packed = new Blob([bytesOf(text)]).stream();
  const stream = packed.pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

class Rows {
  constructor(data) {
    this.names = data.names;
    this.total = data.total;
    this.totals = data.totals;
    this.start = data.start;
    this.visible = data.visible;
    this.strings = data.strings;
    this.columns = data.columns;
    this.count = data.columns.standing.length;
    this.others = new Map(data.other.map(([row, ...values]) => [row, values]));
    this.details = new Map(data.details);
    this.texts = null;
  }

  at(row) {
    const of = (column) => this.strings[this.columns[column][row]] ?? "";
    const standing = this.columns.standing[row];
    const left = { id: of("left"), component: of("component"), type: of("type") };
    left.step = this.columns.step[row];
    const right = { ...left, id: of("right") };
    const other = this.others.get(row);
    if (other) {
      right.component = this.strings[other[0]];
      right.type = this.strings[other[1]];
      right.step = other[2];
    }
    left.note = of("mine");
    right.note = of("theirs");
    return {
      row,
      standing,
      number: this.start + row + 1,
      left: this.hasLeft(row) ? left : null,
      right: this.hasRight(row) ? right : null,
      step: left.step,
      lane: of("lane"),
      field: of("field"),
      diverges: standing >= FIRST_DIVERGENT,
    };
  }

  hasLeft(row) {
    return this.columns.left[row] !== NONE;
  }

  hasRight(row) {
    return this.columns.right[row] !== NONE;
  }

  diverges(row) {
    return this.columns.standing[row] >= FIRST_DIVERGENT;
  }

  firstDivergent() {
    const found = this.columns.standing.findIndex((standing) => standing >= FIRST_DIVERGENT);
    return Math.max(found, 0);
  }

  // What a search looks through, made when first asked for.
  searched(row) {
    this.texts ??= new Array(this.count);
    return (this.texts[row] ??= this.textOf(row));
  }

  textOf(row) {
    const { left, right, lane, field } = this.at(row);
    const sides = [left, right].filter(Boolean);
    const words = sides.flatMap((side) => [side.id, side.component, side.type, side.note]);
    return [...words, lane, field].join("\n").toLowerCase();
  }
}

// Elements are made here and nowhere from text: what comes from a trace is a text node.
function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function standingPill(entry) {
  const { name, word, glyph } = STANDINGS[entry.standing];
  return make(
    "span",
    { class: `pill ${name}` },
    make("span", { class: "glyph", "aria-hidden": "true" }, glyph),
    make("span", { class: "word" }, word),
  );
}

function lackingSide(entry) {
  if (entry.left && entry.right) return null;
  return entry.left ? "only left" : "only right";
}
