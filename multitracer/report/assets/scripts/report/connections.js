// The series of the chosen connection, which the panels show beside the link's.

/** Adds loaded series to the engine, except those that are maps: they are looked up, not drawn. */
function put(engine, loaded) {
  loaded.forEach((one, name) => {
    if (one.kind !== "map") engine.put(name, one.kind, one.columns, one.step);
  });
}

/** Moves the line with the link's rate as its slope to where the connection's data begins. */
function alignRate(page) {
  const first = page.engine.series.get("segments");
  const slope = page.models.find((model) => model.type === "Slope" && model.name === "rate");
  if (slope && first && first.n) slope.setv({ y_intercept: first.y[0] - slope.gradient * first.x[0] });
}

class Connections {
  /** `changed` is called when another connection's series are there, before they are drawn. */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    this.select = document.getElementById("mt-connection");
    this.names = []; // of the series of the connection that is shown
    this.wanted = null;
    this.shown = null; // the number of the connection whose series are drawn, as text
    if (this.select) this.select.addEventListener("change", () => this.show(this.select.value));
  }

  /** Shows a connection; when another one is asked for while its columns are decoded, that one wins. */
  async show(number) {
    const { engine } = this.page;
    this.wanted = number;
    const loaded = await this.page.load(number);
    if (this.wanted !== number) return;
    this.names.forEach((name) => engine.drop(name));
    this.names = Array.from(loaded.keys());
    this.shown = number;
    put(engine, loaded);
    this.changed();
    alignRate(this.page);
    engine.blankDropped();
    MT.overview.draw(this.page);
    this.page.redraw();
    this.page.cursor.refresh();
    document.documentElement.dataset.mtConnection = number;
    this.addFates(number);
  }

  /** Shows a connection that can be chosen and is not shown: a promise of that; else null. */
  showOther(number) {
    const canChoose = this.select && Array.from(this.select.options).some(({ value }) => value === number);
    if (!canChoose || number === this.shown) return null;
    this.select.value = number;
    return this.show(number);
  }

  /** Adds what became of the segments, decoded once the rest is on the screen. */
  async addFates(number) {
    const loaded = await this.page.load(`${number} fates`);
    if (this.wanted !== number) return;
    this.names.push(...MT.fates.put(this.page.engine, loaded));
    this.page.redraw();
    this.page.cursor.refresh();
    document.documentElement.dataset.mtFates = number;
  }
}

MT.connections = { put, Connections };
