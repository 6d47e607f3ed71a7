// Counts and sums of the records in a part of the time axis.

/**
 * How many records a series has from `start` to `end`, and what they add up to.
 *
 * `total` is the sum of the heights of bars, or of the bytes of marks. `before` is the value in force before the part,
 * `last` at its end.
 */
function totalOf(series, start, end) {
  const from = MT.search.lowerBound(series.x, start);
  const to = MT.search.upperBound(series.x, end);
  const { bytes, top } = series.columns;
  let total = bytes || top ? 0 : null;
  if (bytes) for (let i = from; i < to; i++) total += bytes[i];
  else if (top) for (let i = from; i < to; i++) total += series.top[i] - series.y[i];
  const before = from > 0 ? series.y[from - 1] : null;
  const last = to > from ? series.y[to - 1] : before;
  return { records: to - from, total, before, last };
}

/** The totals of every series with records, panel by panel. A thinned series (step above 1) cannot be counted. */
function totals(engine, start, end) {
  return engine.parts
    .map((part) => engine.series.get(part.name))
    .filter((series) => series && series.n)
    .map((series) => ({ name: series.name, step: series.step, ...totalOf(series, start, end) }));
}

/** The heights of the bars of some series, summed in equal parts of the axis from start to end. */
function binned(allSeries, start, end, bins) {
  const sums = new Float64Array(bins);
  const perX = bins / (end - start);
  for (const series of allSeries) {
    for (let i = 0; i < series.n; i++) {
      const bin = Math.floor((series.x[i] - start) * perX);
      if (bin >= 0 && bin < bins) sums[bin] += series.step * (series.top[i] - series.y[i]);
    }
  }
  return sums;
}

MT.totals = { totalOf, totals, binned };
