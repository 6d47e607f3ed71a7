// The drawing engine: draws what is in view of every series in every panel. Each record gets its own mark where they
// are few; where they are many, one picture a panel shows all of them. Nothing is thinned here.

const EXACT_LIMIT = 2500; // marks of a series that a panel draws without delay
const STRETCH_LIMIT = 6000; // bars of the accounting strip that are drawn without delay

/** The visible series of a panel with their records in view. */
function windowsOf(engine, panel) {
  const { start, end } = engine.timeRange;
  const windows = [];
  for (const part of panel.parts) {
    const series = engine.series.get(part.name);
    if (!series || !MT.panels.isVisible(part)) continue;
    const records = MT.layout.inView(series, start, end);
    const isFew = MT.layout.isFew(series.kind, records.inside, engine.exactLimit);
    windows.push({ part, series, isFew, ...records });
  }
  return windows;
}

/** The lowest and the highest value in view of the series to which the y axis is fitted. */
function extentOf(windows) {
  let low = Infinity;
  let high = -Infinity;
  for (const { part, series, from, to, seen } of windows) {
    if (!part.isFitted || to <= from) continue;
    const [least, most] = MT.series.extent(series, from, Math.max(from + 1, seen));
    if (least < low) low = least;
    if (most > high) high = most;
  }
  return [low, high];
}

/** Fits a panel's y axis to what is in view; the line of the link's rate too, unless it is far above. */
function fitAxis(panel, windows) {
  const { figure } = panel;
  if (figure.y_range.type !== "Range1d" || !panel.parts.length) return;
  let [low, high] = extentOf(windows);
  if (!(low <= high)) return;
  for (const model of figure.center.concat(figure.renderers)) {
    if (model.type === "Span" && model.name === "rate" && model.visible)
      high = Math.max(high, Math.min(model.location, 3 * high));
  }
  const [start, end] = MT.layout.withMargin(low, high);
  figure.y_range.setv({ start, end });
}

/** Draws a panel; returns whether every record in view has its own mark. */
function drawPanel(engine, panel) {
  const windows = windowsOf(engine, panel);
  fitAxis(panel, windows);
  for (const { part, series, isFew, from, to } of windows) {
    if (isFew) MT.marks.fill(part, series, from, to);
    else if (!part.isEmpty) MT.marks.blank(part);
  }
  const many = windows.filter((one) => !one.isFew);
  many.sort((a, b) => MT.layout.comparePainting(a.series.kind, b.series.kind));
  if (many.length) MT.composite.paint(panel, many, engine.timeRange);
  else if (panel.isPainted) MT.composite.clear(panel, engine.timeRange);
  panel.records = windows.reduce((sum, one) => sum + one.inside, 0);
  panel.isThinned = windows.some((one) => one.series.step > 1 && one.inside > 0);
  panel.isExact = !many.length && !panel.isThinned;
  return panel.isExact;
}

class Engine {
  constructor(doc, models) {
    this.timeRange = doc.get_model_by_name("xr");
    this.panels = MT.panels.collect(models);
    this.figures = this.panels.map((panel) => panel.figure);
    this.series = new Map(); // by name
    this.exactLimit = EXACT_LIMIT;
    this.stretchLimit = STRETCH_LIMIT;
    this.onVisibility = null; // called when a series was hidden or shown
    this.otherDrawings = []; // drawn with every view: functions that return whether theirs is exact
    for (const panel of this.panels) this.watchVisibility(panel);
  }

  watchVisibility(panel) {
    const changed = () => {
      if (!panel.isFolded) drawPanel(this, panel);
      if (this.onVisibility) this.onVisibility();
    };
    for (const renderer of panel.parts.flatMap((part) => part.renderers)) {
      if (renderer.properties.visible) renderer.properties.visible.change.connect(changed);
    }
  }

  /** Every part of every panel. */
  get parts() {
    return this.panels.flatMap((panel) => panel.parts);
  }

  put(name, kind, columns, step) {
    this.series.set(name, MT.series.create(name, kind, columns, step));
  }

  drop(name) {
    this.series.delete(name);
  }

  /** After series were dropped: nothing of them stays drawn. */
  blankDropped() {
    for (const part of this.parts) if (!this.series.has(part.name)) MT.marks.blank(part);
  }

  /** Names of the series that are hidden. */
  hidden() {
    return this.parts.filter((part) => !MT.panels.isVisible(part)).map((part) => part.name);
  }

  /** Hides the named series, and shows all others. */
  hide(names) {
    for (const part of this.parts) {
      for (const renderer of part.renderers) renderer.visible = !names.includes(part.name);
    }
  }

  /** Draws one panel, folded or not. */
  drawOne(panel) {
    return drawPanel(this, panel);
  }

  /** Draws panels, by default all, and what is drawn beside them; returns whether every record has its own mark. */
  draw(panels = this.panels) {
    for (const panel of panels) if (!panel.isFolded) drawPanel(this, panel);
    const others = this.otherDrawings.map((draw) => draw());
    return this.panels.every((panel) => panel.isFolded || panel.isExact) && others.every(Boolean);
  }
}

MT.Engine = Engine;
