// The legends of the panels: buttons that hide and show a series, each with its value at the cursor.

const LOOKED_AT = 64; // values of a series, to see whether it has decimals
const DECIMALS = 4; // characters of the point and three decimals

/** The characters that the widest value of a series takes. */
function widthOf(series) {
  if (!series || !series.n) return 0;
  const step = Math.ceil(series.n / LOOKED_AT);
  let isWhole = true;
  for (let i = 0; i < series.n; i += step) isWhole = isWhole && Number.isInteger(series.y[i]);
  const ends = MT.series.extent(series, 0, series.n).map((value) => MT.numbers.format(Math.trunc(value)).length);
  return Math.max(...ends) + (isWhole ? 0 : DECIMALS);
}

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

  /**
   * Keeps room in each panel for its widest value, so that no head grows while the pointer moves over the panels, or
   * when more series of the panel are decoded.
   */
  reserve() {
    for (const panel of this.engine.panels) {
      const names = panel.parts.map((part) => part.name);
      const width = Math.max(1, ...names.map((name) => widthOf(this.engine.series.get(name))));
      for (const name of names) this.values.get(name)?.style.setProperty("min-width", `${width}ch`);
    }
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
