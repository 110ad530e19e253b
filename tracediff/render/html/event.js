// One event in full: what was found, its sections side by side, and its tensors.

const MARKS = ["same", "differs", "diverges"];

function showEvent(article, rows, row) {
  const entry = rows.at(row);
  const detail = rows.details.get(row);
  article.replaceChildren(
    eventHeading(entry),
    ...(detail ? eventContent(detail, entry) : [leftOut()]),
    commands(rows, entry),
  );
  article.scrollTop = 0;
}

function eventHeading(entry) {
  const event = entry.left ?? entry.right;
  const other = entry.left && entry.right && entry.right.id !== event.id;
  const facts = [event.component, `step ${event.step}`];
  if (entry.lane) facts.push(`lane ${entry.lane}`);
  facts.push(`event ${entry.number} in walking order`);
  const close = make("button", { type: "button", class: "close" }, "← List");
  const lacking = lackingSide(entry);
  return make(
    "header",
    null,
    close,
    make(
      "h3",
      null,
      make("code", null, other ? `${event.id} | ${entry.right.id}` : event.id),
      ` ${event.type}`,
    ),
    make(
      "p",
      { class: "about" },
      standingPill(entry),
      lacking ? make("span", { class: "lone" }, lacking) : null,
      ` ${facts.join(" · ")}`,
    ),
  );
}

function eventContent(detail, entry) {
  const sections = detail.sections.map((section) => sectionTable(section, entry));
  // The envelope is in the heading already: it stands last.
  const [envelope, ...payload] = sections;
  const panels = detail.panels.map(tensorPanel);
  const isShown = detail.panels.some((panel) => panel.failed);
  const facts = isShown ? detail.facts : [...detail.facts, ...detail.tensorFacts];
  const left = detail.panelsLeftOut;
  const more = left ? `${left} more tensors have other content; this file has no room for them.` : "";
  return [
    facts.length ? make("div", { class: "finding" }, factList(facts)) : null,
    panels.length ? make("h4", null, "Tensors with other content") : null,
    ...panels,
    more ? make("p", { class: "notice" }, more) : null,
    panels.length ? make("h4", null, "Sections") : null,
    ...payload,
    envelope,
  ].filter(Boolean);
}

function sectionTable([name, remark, entries, dropped], entry) {
  const marks = entries.map((found) => found[3]);
  const mark = entry.left && entry.right ? Math.max(0, ...marks) : 0;
  // In an event within tolerance that holds for all that is compared: what is not has a remark.
  const isWithin = mark === 1 && STANDINGS[entry.standing].name === "within" && !remark;
  const look = isWithin ? "within" : MARKS[mark];
  const word = isWithin ? "within tolerance" : ["", "differs", "diverges here"][mark];
  const title = make(
    "caption",
    null,
    make("strong", null, name),
    word ? make("span", { class: `flag ${look}` }, word) : null,
    remark ? make("small", null, ` ${remark}`) : null,
  );
  const body = entries.map((found) => sectionRow(found, entry, isWithin));
  if (dropped) body.push(wideRow(`and ${dropped} more entries, not in this file`));
  if (!entries.length) body.push(wideRow("empty"));
  const heads = ["field", "left", "right"].map((head) => make("th", { scope: "col" }, head));
  return make(
    "table",
    { class: "section" },
    title,
    make("thead", { class: "hidden-text" }, make("tr", null, heads)),
    make("tbody", null, body),
  );
}

function sectionRow([name, left, right, mark], entry, isWithin) {
  const head = make("th", { scope: "row" }, name);
  if (!entry.left || !entry.right) {
    const own = entry.left ? left : right;
    return make("tr", null, head, make("td", { colspan: 2 }, own));
  }
  if (left === right && mark === 0) {
    return make("tr", { class: "same" }, head, make("td", { colspan: 2 }, left));
  }
  if (mark === 2) head.append(make("span", { class: "hidden-text" }, " (diverges here)"));
  return make(
    "tr",
    { class: isWithin ? "within" : MARKS[mark] },
    head,
    make("td", { class: "left-value" }, left),
    make("td", { class: "right-value" }, right),
  );
}

function wideRow(text) {
  return make("tr", { class: "same" }, make("td", { colspan: 3 }, text));
}

function leftOut() {
  const text =
    "The sections of this event are not in this file, whose size is bounded. " +
    "The commands below show them.";
  return make("p", { class: "notice" }, text);
}

function commands(rows, entry) {
  const lines = [entry.left, entry.right].flatMap((side, index) =>
    side ? [`tracediff show ${quoted(rows.names[index])} --event ${quoted(side.id)}`] : [],
  );
  return make("div", { class: "commands" }, lines.map((line) => make("code", null, line)));
}

// Ids come from traces: a line that is copied into a shell must not do anything else.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
