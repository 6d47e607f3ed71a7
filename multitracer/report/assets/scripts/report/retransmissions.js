// Steps from one retransmission to the next, and the finding that explains one.

const SERIES = ["again_no", "again_yes", "again_unknown"];
const SAME = 1e-7; // seconds: a retransmission this near to the middle of the view is the one shown
const KINDS = {
  timeout: ["timeout", "spurious-timeout"],
  fast: ["fast-retransmit", "spurious-fast-retransmit"],
  probe: ["probe"],
};

/** The next of some records sorted by x after the middle (`step` above 0), or the last before it; round at the ends. */
function neighbour(records, middle, step) {
  if (step > 0) return records.find(({ x }) => x > middle + SAME) ?? records[0];
  return records.findLast(({ x }) => x < middle - SAME) ?? records[records.length - 1];
}

/** All retransmissions in order of time: their series' name, their index in it, their time. */
function inOrder(engine) {
  const all = SERIES.map((name) => engine.series.get(name)).filter(Boolean);
  const records = all.flatMap(({ name, x }) => Array.from(x, (time, i) => ({ name, i, x: time })));
  return records.sort((a, b) => a.x - b.x);
}

/** Brings the next (`step` above 0) or the previous retransmission to the middle of the view, and returns it. */
function show(page, step) {
  const { start, end } = page.timeRange;
  const found = neighbour(inOrder(page.engine), (start + end) / 2, step);
  if (!found) return null;
  const half = Math.min((end - start) / 2, (page.whole[1] - page.whole[0]) / 40);
  page.views.show(found.x - half, found.x + half);
  return found;
}

/**
 * The finding about a retransmission: of those whose kind fits its trigger, and whose interval holds it, the last to
 * begin; null without one. `findings` have index, kind, start and end.
 */
function explaining(findings, time, trigger) {
  const kinds = KINDS[trigger] || Object.values(KINDS).flat();
  const about = findings.filter(
    ({ kind, start, end }) => kinds.includes(kind) && start <= time + SAME && end >= time - SAME,
  );
  return about.reduce((best, one) => (best === null || one.start > best.start ? one : best), null);
}

MT.retransmissions = { SERIES, neighbour, show, explaining };
