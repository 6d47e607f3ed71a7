// The bars of where each transfer's time went: a part that is chosen is told in seconds beside those of the others.

class Bars {
  constructor(page, findings) {
    Object.assign(this, { page, findings });
    this.parts = Array.from(document.querySelectorAll(".bar button"));
    for (const part of this.parts) part.addEventListener("click", () => this.show(part));
  }

  /** Tells of a part, and shows the dearest finding of its kind in its transfer, if there is one. */
  show(part) {
    const { part: name, in: transfer } = part.dataset;
    this.clear();
    const items = Array.from(this.findings.items);
    const own = items.find(([, { dataset, hidden }]) => dataset.in === transfer && dataset.kind === name && !hidden);
    if (own) this.findings.show(own[0]);
    else this.findings.clear();
    const alike = this.parts.filter((one) => one.dataset.part === name);
    for (const one of alike) one.setAttribute("aria-current", "true");
    document.getElementById("mt-chosen").textContent = `${alike.map(textOf).join("; ")}.`;
    MT.pane.tell();
  }

  clear() {
    for (const part of this.parts) part.removeAttribute("aria-current");
  }
}

/** What a part says, with the name of its transfer. */
function textOf(part) {
  return `${part.closest(".transfer").querySelector(".name").title}: ${part.textContent.trim()}`;
}

MT.bars = { Bars };
