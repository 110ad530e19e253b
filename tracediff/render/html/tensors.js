// Tensor panels: statistics, worst elements, the error heat map, pictures. Draws, computes nothing.

const HEAT = [
  [253, 231, 178],
  [250, 176, 92],
  [232, 99, 62],
  [176, 32, 83],
  [84, 15, 94],
];
const NO_ERROR = [150, 156, 166, 60];
const NOT_FINITE = [0, 200, 220, 255];
const LARGEST_HEAT = { width: 420, height: 300 };

function tensorPanel(panel) {
  const open = panel.failed || panel.pictures !== null;
  const summary = make(
    "summary",
    null,
    make("strong", null, panel.name),
    ` ${panel.kind}, ${panel.section}`,
    panel.failed ? make("span", { class: "flag" }, "diverges here") : null,
  );
  return make(
    "details",
    { class: panel.failed ? "panel failed" : "panel", open: open ? "" : null },
    summary,
    factList(panel.facts),
    panel.pictures === null ? null : picturePanel(panel.pictures),
    panel.grid === null ? null : heatFigure(panel.grid, `Absolute error; ${panel.axes}`),
    worstTable(panel.worst),
    statisticsTable(panel.statistics),
  );
}

function factList(facts) {
  const entries = facts.map(([label, text]) =>
    make("div", null, make("dt", null, label), make("dd", null, text)),
  );
  return make("dl", { class: "facts-small" }, entries);
}

function numberTable(caption, heads, rows) {
  if (rows.length === 0) return null;
  const head = make("tr", null, heads.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(([name, ...cells]) =>
    make(
      "tr",
      null,
      make("th", { scope: "row" }, name),
      cells.map((cell) => make("td", null, cell)),
    ),
  );
  const table = make(
    "table",
    { class: "numbers" },
    make("caption", null, caption),
    make("thead", null, head),
    make("tbody", null, body),
  );
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, table);
}

function worstTable(worst) {
  const heads = ["index", "left", "right", "absolute", "relative"];
  return numberTable("Worst elements", heads, worst);
}

function statisticsTable(statistics) {
  return numberTable("Statistics", ["", "left", "right"], statistics);
}

function heatFigure(grid, title) {
  const canvas = heatCanvas(grid);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${title}: from ${grid.lowText} to ${grid.highText}`);
  const readout = make("span", { class: "readout" });
  const levels = bytesOf(grid.levels);
  canvas.addEventListener("pointermove", (event) => {
    readout.textContent = cellText(grid, levels, canvas, event);
  });
  const block = grid.shrunk ? ", each cell the largest error of a block" : "";
  return make(
    "figure",
    { class: "heat" },
    make("figcaption", null, `${title}${block}`),
    canvas,
    heatLegend(grid, levels),
    readout,
  );
}

function heatCanvas(grid) {
  const levels = bytesOf(grid.levels);
  const canvas = make("canvas", { width: grid.columns, height: grid.rows });
  const image = new ImageData(grid.columns, grid.rows);
  levels.forEach((level, cell) => image.data.set(heatColour(level), cell * 4));
  canvas.getContext("2d").putImageData(image, 0, 0);
  const scale = Math.min(
    LARGEST_HEAT.width / grid.columns,
    LARGEST_HEAT.height / grid.rows,
    22,
  );
  canvas.style.width = `${Math.round(grid.columns * scale)}px`;
  canvas.style.aspectRatio = `${grid.columns} / ${grid.rows}`;
  return canvas;
}

function heatColour(level) {
  if (level === 0) return NO_ERROR;
  if (level === 255) return NOT_FINITE;
  const place = ((level - 1) / 253) * (HEAT.length - 1);
  const index = Math.min(Math.floor(place), HEAT.length - 2);
  const share = place - index;
  const mixed = HEAT[index].map((from, i) => from + (HEAT[index + 1][i] - from) * share);
  return [...mixed, 255];
}

function heatLegend(grid, levels) {
  const scale = make("canvas", { class: "scale", width: 64, height: 1, "aria-hidden": "true" });
  const image = new ImageData(64, 1);
  for (let i = 0; i < 64; i += 1) image.data.set(heatColour(1 + i * 4), i * 4);
  scale.getContext("2d").putImageData(image, 0, 0);
  const items = grid.high > 0 ? [grid.lowText, scale, grid.highText] : [];
  if (levels.includes(0)) items.push(make("span", { class: "key none" }, "no error"));
  if (levels.includes(255)) items.push(make("span", { class: "key odd" }, "not finite"));
  return make("div", { class: "legend" }, items);
}

function cellText(grid, levels, canvas, event) {
  const box = canvas.getBoundingClientRect();
  const place = (offset, size, count) =>
    Math.min(count - 1, Math.max(0, Math.floor((offset / size) * count)));
  const column = place(event.clientX - box.left, box.width, grid.columns);
  const row = place(event.clientY - box.top, box.height, grid.rows);
  const covered = (index, count, extent) => {
    const from = Math.floor((index * extent) / count);
    const to = Math.floor(((index + 1) * extent) / count) - 1;
    return from >= to ? `${from}` : `${from}–${to}`;
  };
  const where = `row ${covered(row, grid.rows, grid.height)}, column ${covered(column, grid.columns, grid.width)}`;
  return `${where}: ${errorText(grid, levels[row * grid.columns + column])}`;
}

function errorText(grid, level) {
  if (level === 0) return "no error";
  if (level === 255) return "not finite";
  const error = grid.low * (grid.high / grid.low) ** ((level - 1) / 253);
  return `about ${error.toPrecision(2)}`;
}

function picturePanel(pictures) {
  const { left, right, difference, caption } = pictures;
  const errors = heatCanvas(difference);
  errors.style.width = "";
  return make(
    "div",
    { class: "pictures" },
    make("p", null, caption),
    make(
      "div",
      { class: "picture-row" },
      pictureFigure("left", pictureCanvas(left)),
      pictureFigure("right", pictureCanvas(right)),
      pictureFigure("difference", errors),
    ),
    heatLegend(difference, bytesOf(difference.levels)),
  );
}

function pictureFigure(name, canvas) {
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `picture: ${name}`);
  return make("figure", null, canvas, make("figcaption", null, name));
}

function pictureCanvas(picture) {
  const pixels = bytesOf(picture.pixels);
  const canvas = make("canvas", { width: picture.width, height: picture.height });
  const image = new ImageData(picture.width, picture.height);
  for (let i = 0; i < picture.width * picture.height; i += 1) {
    image.data.set(pixels.subarray(i * 3, i * 3 + 3), i * 4);
    image.data[i * 4 + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
