// Steps from one retransmission to the next.

const SERIES = ["again_no", "again_yes", "again_unknown"];
const SAME = 1e-7; // seconds: a retransmission this near to the middle of the view is the one shown

/** The next of some sorted times after the middle (`step` above 0), or the last before it; round at the ends. */
function neighbour(times, middle, step) {
  if (step > 0) return times.find((time) => time > middle + SAME) ?? times[0];
  return times.findLast((time) => time < middle - SAME) ?? times[times.length - 1];
}

/** Brings the next (`step` above 0) or the previous retransmission to the middle of the view. */
function show(page, step) {
  const all = SERIES.map((name) => page.engine.series.get(name)).filter(Boolean);
  const times = all.flatMap((series) => Array.from(series.x)).sort((a, b) => a - b);
  if (!times.length) return;
  const { start, end } = page.timeRange;
  const half = Math.min((end - start) / 2, (page.whole[1] - page.whole[0]) / 40);
  const time = neighbour(times, (start + end) / 2, step);
  page.views.show(time - half, time + half);
}

MT.retransmissions = { SERIES, neighbour, show };
