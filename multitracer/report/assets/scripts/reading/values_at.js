// The value of every series at a time.

/** The index of the record to read at a time: of a line the last one not after it, else the nearest; -1 if none. */
function indexAt(series, time) {
  if (series.kind === "line") return MT.search.upperBound(series.x, time) - 1;
  const next = MT.search.lowerBound(series.x, time);
  if (next === 0) return series.n ? 0 : -1;
  const isEarlierNearer = next === series.n || time - series.x[next - 1] < series.x[next] - time;
  return isEarlierNearer ? next - 1 : next;
}

/** Of every visible series the record to read at a time; `top` and `record` are null where it has none. */
function valuesAt(engine, time) {
  const found = [];
  for (const part of engine.parts) {
    const series = engine.series.get(part.name);
    if (!series || !MT.panels.isVisible(part)) continue;
    const i = indexAt(series, time);
    if (i < 0) continue;
    const { top, record } = series.columns;
    found.push({
      name: part.name,
      x: series.x[i],
      y: series.y[i],
      top: top ? top[i] : null,
      record: record ? record[i] : null,
    });
  }
  return found;
}

/** The value of a series' last record that is not after a time; null before the first, and without a series. */
function lastAt(series, time) {
  const i = series ? MT.search.upperBound(series.x, time) - 1 : -1;
  return i < 0 ? null : series.y[i];
}

MT.values = { indexAt, valuesAt, lastAt };
