// The bar of where the time went: a part that is chosen is told in words, with the dearest finding behind it.

class TimeParts {
  constructor(page, findings, segmentFrames) {
    Object.assign(this, { page, findings, segmentFrames });
    this.parts = Array.from(document.querySelectorAll(".bar button"));
    this.dearestFirst = this.parts
      .filter((part) => part.dataset.cost)
      .sort((a, b) => Number(b.dataset.cost) - Number(a.dataset.cost));
    this.parts.forEach((part) => part.addEventListener("click", () => this.show(part)));
  }

  /** The next of the causes that cost time, the dearest first. */
  next() {
    if (!this.dearestFirst.length) {
      this.page.say("Where the time went is not known here.");
      return;
    }
    const place = this.dearestFirst.findIndex((part) => part.hasAttribute("aria-current"));
    this.show(this.dearestFirst[(place + 1) % this.dearestFirst.length]);
  }

  async show(part) {
    const { root, because } = part.dataset;
    if (root) await this.findings.show(Number(root));
    else this.findings.clear();
    this.clear();
    part.setAttribute("aria-current", "true");
    this.segmentFrames.tell(`${part.textContent.trim()}${because ? `: ${because}` : ""}.`);
  }

  clear() {
    for (const part of this.parts) part.removeAttribute("aria-current");
  }
}

MT.timeParts = { TimeParts };
