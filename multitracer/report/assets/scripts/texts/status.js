// The line above the panels: how exact the drawing is, how many records are in view, and which part of the time.

function statusText(isExact, isThinned, records, start, end, hasStrips) {
  const how = isExact ? "exact: each of " : isThinned ? "thinned, and so not all: " : "overview: a picture of ";
  const view = `${start.toFixed(6)} s to ${end.toFixed(6)} s (${(end - start).toPrecision(4)} s)`;
  const strips = hasStrips ? ", events as counts at the bottom" : "";
  return `${how}${records.toLocaleString("en")} records, ${view}${strips}`;
}

/** Writes what an engine has just drawn into an element. */
function show(element, engine, isExact) {
  const records = engine.panels.reduce((sum, panel) => sum + (panel.records || 0), 0);
  const isThinned = engine.panels.some((panel) => panel.isThinned);
  const { start, end } = engine.timeRange;
  const hasStrips = engine.panels.some((panel) => panel.hasStrips);
  element.textContent = statusText(isExact, isThinned, records, start, end, hasStrips);
  element.dataset.exact = isExact;
}

MT.status = { statusText, show };
