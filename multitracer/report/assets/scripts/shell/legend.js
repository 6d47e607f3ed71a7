// The legends of the panels: buttons that hide and show a series, each with its value at the cursor.

class Legend {
  constructor(engine) {
    this.engine = engine;
    this.entries = Array.from(document.querySelectorAll("button.entry[data-series]"));
    this.values = new Map(this.entries.map((entry) => [entry.dataset.series, entry.querySelector("output")]));
    for (const entry of this.entries) entry.addEventListener("click", () => this.toggle(entry.dataset.series));
    this.refresh();
  }

  toggle(name) {
    const part = this.engine.parts.find((one) => one.name === name);
    const isVisible = !MT.panels.isVisible(part);
    for (const renderer of part.renderers) renderer.visible = isVisible;
    this.refresh();
  }

  /** Shows which series are hidden. */
  refresh() {
    const hidden = new Set(this.engine.hidden());
    for (const entry of this.entries) entry.setAttribute("aria-pressed", String(!hidden.has(entry.dataset.series)));
    return true;
  }

  /** Shows the values of all series at a time; "-" before the first of a series. */
  show(time) {
    for (const [name, output] of this.values) {
      const value = MT.values.lastAt(this.engine.series.get(name), time);
      output.textContent = value === null ? "-" : MT.numbers.format(value);
    }
  }
}

MT.legend = { Legend };
