// Steps from one retransmission to the next, and the finding that explains one.

const SERIES = ["again_no", "again_yes", "again_unknown"];
const SAME = 1e-7; // seconds: times of the page's and of the summary's numbers are the same within it
const KINDS = {
  timeout: ["timeout", "spurious-timeout"],
  fast: ["fast-retransmit", "spurious-fast-retransmit"],
  probe: ["probe"],
};

/**
 * The record after the one at `place` (`step` above 0) or before it, round at the ends. With none chosen, `place` -1,
 * the first or the last from `start` to `end`, if there is one; else of all.
 */
function neighbour(records, place, start, end, step) {
  if (place >= 0) return records[(place + step + records.length) % records.length];
  const inView = records.filter(({ x }) => x >= start && x <= end);
  return (inView.length ? inView : records).at(step > 0 ? 0 : -1);
}

/** All retransmissions in order of time: their series' name, their index in it, their time. */
function inOrder(engine) {
  const all = SERIES.map((name) => engine.series.get(name)).filter(Boolean);
  const records = all.flatMap(({ name, x }) => Array.from(x, (time, i) => ({ name, i, x: time })));
  return records.sort((a, b) => a.x - b.x);
}

/** Brings the retransmission after the chosen one, if that is in view, or before it to the middle, and returns it. */
function show(page, chosen, step) {
  const { start, end } = page.timeRange;
  const records = inOrder(page.engine);
  const isChosen = ({ name, i, x }) => chosen && name === chosen.name && i === chosen.i && x >= start && x <= end;
  const found = neighbour(records, records.findIndex(isChosen), start, end, step);
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
