// A time axis in SVG: for the panel of findings, which no figure of Bokeh draws.

const ROOM = 90; // pixels that a tick and its text have
const STEPS = [1, 2, 5, 10];

/** The distance of ticks, one of 1, 2 and 5 times a power of ten, for a part of the time on so many pixels. */
function stepFor(span, width) {
  const least = (span * ROOM) / Math.max(width, ROOM);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * STEPS.find((factor) => factor * power >= least * (1 - 1e-9));
}

/** The times of the ticks from start to end, each with its text. */
function ticks(start, end, width) {
  const step = stepFor(end - start, width);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let i = Math.ceil(start / step - 1e-9); i * step <= end; i++) {
    found.push({ time: i * step, text: (i * step).toFixed(digits).replace(/^-(0\.?0*)$/, "$1") });
  }
  return found;
}

/** The axis at height y, `left` and `width` as of the panel's frame. */
function draw(start, end, { left, width }, y) {
  const parts = [MT.svg.element("path", { d: `M${left} ${y}h${width}`, stroke: "#8a929b" })];
  for (const { time, text } of ticks(start, end, width)) {
    const x = left + ((time - start) / (end - start)) * width;
    parts.push(MT.svg.element("path", { d: `M${x} ${y}v5`, stroke: "#8a929b" }));
    parts.push(MT.svg.text(x, y + 18, text, { "text-anchor": "middle" }));
  }
  return MT.svg.element("g", { fill: "#1b1f24" }, ...parts);
}

MT.timeAxis = { stepFor, ticks, draw };
