// The line above the panels: how exact the drawing is, how many records are in view, and which part of the time.

function statusText(isExact, isThinned, records, start, end) {
  const how = isExact ? "exact: each of " : isThinned ? "thinned, and so not all: " : "overview: a picture of ";
  const view = `${start.toFixed(6)} s to ${end.toFixed(6)} s (${(end - start).toPrecision(4)} s)`;
  return `${how}${records.toLocaleString("en")} records, ${view}`;
}

/** Writes what an engine has just drawn into an element. */
function show(element, engine, isExact) {
  const records = engine.panels.reduce((sum, panel) => sum + (panel.records || 0), 0);
  const isThinned = engine.panels.some((panel) => panel.isThinned);
  const { start, end } = engine.timeRange;
  element.textContent = statusText(isExact, isThinned, records, start, end);
  element.dataset.exact = isExact;
}

MT.status = { statusText, show };
