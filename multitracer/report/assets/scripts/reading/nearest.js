// The record under the pointer.

const REACH = 12; // pixels
const MOST = 20_000; // records within reach: where there are more, no one of them is meant

/**
 * The record of a series nearest to a place, if one is nearer than `reach` pixels; else null.
 *
 * `perX` and `perY` are pixels for a unit of each axis. A bar is hit anywhere between its y and its top.
 */
function inSeries(series, x, y, perX, perY, reach) {
  let best = null;
  const first = MT.search.lowerBound(series.x, x - reach / perX);
  const end = MT.search.upperBound(series.x, x + reach / perX);
  if (end - first > MOST) return null;
  for (let i = first; i < end; i++) {
    const isInside = y >= series.y[i] && y <= series.top[i];
    const dx = (series.x[i] - x) * perX;
    const dy = isInside ? 0 : Math.min(Math.abs(series.y[i] - y), Math.abs(series.top[i] - y)) * perY;
    const distance = dx * dx + dy * dy;
    if (distance < (best ? best.distance : reach * reach)) best = { i, distance };
  }
  return best;
}

/** Of the named series that a figure shows, the record drawn nearest to a place in it: its series' name and index. */
function nearest(engine, figure, names, x, y) {
  const { start, end } = engine.timeRange;
  const perX = (figure.inner_width || 1000) / (end - start);
  const perY = (figure.inner_height || 200) / (figure.y_range.end - figure.y_range.start);
  const panel = engine.panels.find((one) => one.figure === figure);
  const shown = new Set(panel.parts.filter(MT.panels.isVisible).map((part) => part.name));
  let best = null;
  for (const name of names) {
    const series = engine.series.get(name);
    if (!series || !shown.has(name)) continue;
    const found = inSeries(series, x, y, perX, perY, REACH);
    if (found && (!best || found.distance < best.distance)) best = { name, ...found };
  }
  return best;
}

MT.nearest = { inSeries, nearest };
