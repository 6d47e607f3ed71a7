// Lines from each segment to the frames that carried it, and on to where it arrived, while few segments are in view.

const MOST = 300; // segments in view: with more, lines would hide what they join
const FEW = 60; // lines: more of them are drawn thin
const COLOURS = { light: "rgba(60, 80, 100, 0.64)", dark: "rgba(170, 190, 210, 0.5)" };

/** Of each row the places in the map of its first and its last frame; -1 without one. The map is in order of time. */
function ends({ row }) {
  let most = 0;
  for (let k = 0; k < row.length; k++) most = Math.max(most, row[k]);
  const first = new Int32Array(most + 1).fill(-1);
  const last = new Int32Array(most + 1).fill(-1);
  for (let k = 0; k < row.length; k++) {
    if (first[row[k]] < 0) first[row[k]] = k;
    last[row[k]] = k;
  }
  return { first, last };
}

class Journeys {
  constructor(page, frame) {
    Object.assign(this, { page, frame, stack: frame.stack });
    this.take(null);
    this.canvas = document.createElement("canvas");
    this.canvas.id = "mt-journeys";
    this.canvas.setAttribute("aria-hidden", "true");
    this.stack.append(this.canvas);
    page.engine.otherDrawings.push(() => this.draw());
  }

  /** Takes the columns x, y and row of the pairs of frame and segment; null without a link log. */
  take(map) {
    Object.assign(this, { map, ends: null });
  }

  /** The segments in view, of the series that are shown; none where they are many. */
  inView() {
    const { engine, timeRange } = this.page;
    const found = [];
    let count = 0;
    for (const part of engine.parts) {
      const series = engine.series.get(part.name);
      if (!series || !MT.segmentFrames.SEGMENTS.includes(part.name) || !MT.panels.isVisible(part)) continue;
      const { from, to } = MT.layout.inView(series, timeRange.start, timeRange.end);
      count += to - from;
      found.push({ columns: series.columns, from, to });
    }
    return count <= MOST ? found : [];
  }

  draw() {
    const place = this.placesIn("sequence");
    const segments = place ? this.inView() : [];
    this.canvas.hidden = !segments.length;
    if (!segments.length) return true;
    const frames = this.placesIn("frames");
    const lines = segments.flatMap(({ columns, from, to }) =>
      Array.from({ length: to - from }, (_, i) => this.linesOf(columns, from + i, place, frames)).flat(),
    );
    this.canvas.dataset.lines = lines.length;
    const context = this.begin();
    context.lineWidth = lines.length > FEW ? 0.5 : 1;
    for (const [[x, y], end] of lines) {
      context.moveTo(x, y);
      context.lineTo(end[0], end[1]);
    }
    context.stroke();
    return true;
  }

  /** A segment's lines: to its first frame, and from its last one to its arrival; without frames straight to that. */
  linesOf({ x, y, top, row, arrived }, i, place, frames) {
    const middle = (y[i] + top[i]) / 2;
    const sent = place(x[i], middle);
    const came = arrived && arrived[i] >= 0 ? place(arrived[i] / 1e9, middle) : null;
    const pair = frames ? this.framesOf(row[i], frames) : null;
    if (!pair) return came ? [[sent, came]] : [];
    return came
      ? [
          [sent, pair[0]],
          [pair[1], came],
        ]
      : [[sent, pair[0]]];
  }

  /** Where the first and the last frame of a row are drawn. */
  framesOf(row, frames) {
    if (!this.map) return null;
    this.ends = this.ends || ends(this.map);
    const first = this.ends.first[row] ?? -1;
    if (first < 0) return null;
    const last = this.ends.last[row];
    return [frames(this.map.x[first], this.map.y[first]), frames(this.map.x[last], this.map.y[last])];
  }

  /** A function from a panel's units to pixels of the canvas; null while the panel is folded. */
  placesIn(name) {
    const figure = this.page.engine.figures.find((one) => one.tags[0] === name);
    const view = figure && MT.frame.viewOf(figure);
    if (!view) return null;
    const [at, stack] = [view.el.getBoundingClientRect(), this.stack.getBoundingClientRect()];
    const [left, top] = [at.left - stack.left, at.top - stack.top + this.stack.scrollTop];
    return (x, y) => [left + view.frame.x_scale.compute(x), top + view.frame.y_scale.compute(y)];
  }

  begin() {
    const ratio = devicePixelRatio || 1;
    this.canvas.style.height = "0"; // else the stack would stay as high as the panels were before
    const [width, height] = [this.stack.clientWidth, this.stack.scrollHeight];
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.rect(this.frame.left, 0, this.frame.width, height);
    context.clip();
    context.strokeStyle = COLOURS[MT.theme.current()];
    context.beginPath();
    return context;
  }
}

MT.journeys = { ends, Journeys };
