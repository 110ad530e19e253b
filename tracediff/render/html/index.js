// The index of several comparisons: which of its rows are shown. Complete without this.

class Index {
  constructor(root) {
    this.root = root;
    this.outcome = null;
    this.buttons = [...root.querySelectorAll("h2 button")];
    for (const button of this.buttons) {
      button.disabled = false;
      button.addEventListener("click", () => this.filter(button.dataset.outcome));
    }
  }

  // Shows the rows of one outcome; all of them where that one was chosen already.
  filter(outcome) {
    this.outcome = outcome === this.outcome ? null : outcome;
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", button.dataset.outcome === this.outcome);
    }
    for (const row of this.root.querySelectorAll("tbody tr")) {
      row.hidden = this.outcome !== null && row.dataset.outcome !== this.outcome;
    }
    for (const part of this.root.querySelectorAll(":scope > .scroll, :scope > details")) {
      part.hidden = part.querySelector("tbody tr:not([hidden])") === null;
      if (part.matches("details") && this.outcome !== null && !part.hidden) part.open = true;
    }
  }

  mark(section) {
    for (const link of this.root.querySelectorAll("a")) {
      const isCurrent = link.getAttribute("href") === `#${section.id}`;
      if (isCurrent) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      link.closest("tr").classList.toggle("current", isCurrent);
      if (isCurrent) this.reveal(link);
    }
  }

  reveal(link) {
    const fold = link.closest("details");
    if (fold) fold.open = true;
    const scrolled = link.closest(".scroll");
    const box = scrolled.getBoundingClientRect();
    const row = link.closest("tr").getBoundingClientRect();
    const isInside = row.top >= box.top && row.bottom <= box.bottom;
    if (!isInside) scrolled.scrollTop += row.top - box.top - box.height / 2;
  }
}
