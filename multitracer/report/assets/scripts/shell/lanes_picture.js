// The panel with where the time went and the findings, as SVG.

const { LANE } = MT.fitting;
const EDGE = 2; // pixels between a lane's edge and what is in it
const LOW = 7; // pixels: the height of a slice over a longer one

/** The hatching of what is only likely. */
function hatching(colour) {
  const size = { width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" };
  const id = `mt-likely-${colour.slice(1)}`;
  const box = { width: 9, height: 9 };
  const white = MT.svg.element("rect", { ...box, fill: "#ffffff" });
  const pale = MT.svg.element("rect", { ...box, fill: colour, "fill-opacity": 0.6 });
  const stripe = MT.svg.element("rect", { ...box, width: 6, fill: colour });
  return MT.svg.element("pattern", { id, ...size }, white, pale, stripe);
}

function fillOf(verdict, colour) {
  if (verdict === "likely") return { fill: `url(#mt-likely-${colour.slice(1)})`, stroke: colour };
  if (verdict === "undecided") {
    return { fill: colour, "fill-opacity": 0.25, stroke: colour, "stroke-dasharray": "3 2" };
  }
  return { fill: colour, stroke: "#ffffff" };
}

/** As much of a name as there is room for. */
function cut(name, room) {
  let shown = name;
  while (shown && MT.svg.widthOf(shown) > room) shown = shown.slice(0, -1);
  return shown;
}

/** One finding: its slice, and its name where there is room. */
function slice({ left, right, kind, verdict, colour, isNested, isDeep }, y) {
  const width = Math.max(MT.lanes.THIN, right - left);
  const whole = LANE - 2 * EDGE;
  const height = isNested ? LOW : whole;
  const box = { x: left, y: y + EDGE + whole - height, width, height, rx: 2 };
  const parts = [MT.svg.element("rect", { ...box, ...fillOf(verdict, colour) })];
  if (width >= MT.lanes.NAMED && !isNested) {
    const isDark = verdict !== "undecided";
    const edge = isDark ? { "paint-order": "stroke", stroke: "#000000", "stroke-opacity": 0.6, "stroke-width": 2 } : {};
    const fill = isDark ? "#ffffff" : "#1b1f24";
    parts.push(MT.svg.text(left + 4, y + (isDeep ? EDGE + 11 : LANE / 2 + 4), cut(kind, width - 8), { fill, ...edge }));
  }
  return MT.svg.element("g", {}, ...parts);
}

/** The bars of the lane "time". */
function stretches({ causes }, bars, axis, start, end, y) {
  const parts = [];
  const box = { y: y + EDGE, height: LANE - 2 * EDGE };
  for (let i = 0; i < bars.left.length; i++) {
    const [from, to] = [Math.max(start, bars.left[i]), Math.min(end, bars.right[i])];
    const x = axis.left + ((from - start) / (end - start)) * axis.width;
    const width = ((to - from) / (end - start)) * axis.width;
    parts.push(MT.svg.element("rect", { x, width, ...box, fill: causes[bars.cause[i]].colour }));
  }
  return MT.svg.element("g", { "shape-rendering": "crispEdges" }, ...parts);
}

/** The slices of a lane in view that are drawn. */
function slicesOf(lane, axis, start, end) {
  const xOf = (time) => axis.left + ((time - start) / (end - start)) * axis.width;
  const last = axis.left + axis.width;
  const inView = lane.all
    .filter((one) => one.end >= start && one.start <= end)
    .map((one) => ({
      left: Math.min(Math.max(axis.left, xOf(one.start)), last - MT.lanes.THIN),
      right: Math.min(last, xOf(one.end)),
      kind: one.slice.textContent,
      isNested: one.isNested,
      isDeep: lane.all.some((other) => other.isNested),
      verdict: ["likely", "undecided"].find((name) => one.slice.classList.contains(name)) || "confirmed",
      colour: one.slice.style.getPropertyValue("--colour").trim(),
    }));
  return MT.lanes.drawn(inView);
}

/**
 * All lanes and the time axis; `axis` has left and width of its frame. Returns the picture and its height.
 */
function draw(section, shown, axis, { start, end }) {
  const parts = [];
  const colours = new Set();
  const lanes = Array.from(section.querySelectorAll("[data-lane]"));
  lanes.forEach((lane, place) => {
    const y = place * LANE;
    const name = cut(lane.querySelector(".name").textContent, axis.left - 12);
    parts.push(MT.svg.text(8, y + LANE / 2 + 4, name, { fill: "#57606a" }));
    parts.push(MT.svg.element("path", { d: `M0 ${y + LANE - 0.5}H${axis.left + axis.width}`, stroke: "#d0d7de" }));
    if (lane.dataset.lane === "time") {
      const { bars } = shown.stretches.inView();
      parts.push(stretches(shown.stretches, bars, axis, start, end, y));
      return;
    }
    for (const one of slicesOf(shown.lanes.lanes.get(lane.dataset.lane), axis, start, end)) {
      if (one.verdict === "likely") colours.add(one.colour);
      parts.push(slice(one, y));
    }
  });
  const height = lanes.length * LANE;
  const defs = MT.svg.element("defs", {}, ...Array.from(colours, hatching));
  const drawn = MT.svg.element("g", {}, defs, ...parts, MT.timeAxis.draw(start, end, axis, height));
  return { drawn, height: height + 24 };
}

MT.lanesPicture = { draw };
