// The comparison's own parts: every transfer's lines on one axis, shifted so that they are aligned at a chosen event.

const REACH = 12; // pixels from a point at which a click still hits it
const overlaid = JSON.parse(document.getElementById("mt-laid").textContent);

/** The texts for names of series. */
function labelsOf(transfers) {
  const labels = {};
  transfers.forEach((one, i) => {
    labels["acks " + i] = one.name + ", acknowledged";
    labels["goodput " + i] = one.name + ", goodput";
  });
  return labels;
}

/** The report of the transfer whose point is nearest to a click; none beyond REACH. */
function reportNear(figure, x, y) {
  const perX = figure.inner_width / (figure.x_range.end - figure.x_range.start);
  const perY = figure.inner_height / (figure.y_range.end - figure.y_range.start);
  let best = "";
  let least = REACH * REACH;
  for (const { data } of figure.renderers.map((renderer) => renderer.data_source)) {
    for (let i = 0; i < data.x.length; i++) {
      const distance = ((data.x[i] - x) * perX) ** 2 + ((data.y[i] - y) * perY) ** 2;
      if (distance < least) {
        least = distance;
        best = data.report[i];
      }
    }
  }
  return best;
}

/** Puts one transfer's lines into the engine, so that `zero` seconds are at 0; without one they are left out. */
function putShifted(engine, lines, i, zero) {
  for (const name of ["acks " + i, "goodput " + i]) {
    const line = lines.get(name);
    if (!line) continue;
    engine.drop(name);
    if (zero === undefined) continue;
    const x = line.columns.x.map((time) => time - zero);
    engine.put(name, line.kind, { x, y: line.columns.y });
  }
}

/** Makes all of the time what the lines take, with some room. */
function fitWhole(page) {
  const all = Array.from(page.engine.series.values()).filter((series) => series.n);
  if (!all.length) return;
  const first = Math.min(...all.map((series) => series.x[0]));
  const last = Math.max(...all.map((series) => series.x[series.n - 1]));
  const margin = 0.02 * (last - first);
  page.whole[0] = first - margin;
  page.whole[1] = last + margin;
}

/** Aligns all transfers at an event that each of them has in align_s. */
function align(page, lines, event) {
  overlaid.forEach((one, i) => putShifted(page.engine, lines, i, one.align_s[event]));
  fitWhole(page);
  page.engine.blankDropped();
  page.views.showAll();
  page.redraw();
  document.documentElement.dataset.mtAligned = event;
}

/** A click on a point of the campaign's figure opens that transfer's report. */
function linkPoints(models) {
  const campaign = models.find((model) => model.type === "Figure" && model.name === "campaign");
  if (!campaign) return;
  campaign.on_event("tap", ({ x, y }) => {
    const report = reportNear(campaign, x, y);
    if (report) location.href = report.split("/").map(encodeURIComponent).join("/");
  });
}

MT.page.start(labelsOf(overlaid), async (page) => {
  const lines = await page.load("all");
  const select = document.getElementById("mt-align");
  if (select) select.addEventListener("change", () => align(page, lines, select.value));
  linkPoints(page.models);
  return async () => {
    const { start, end } = page.timeRange;
    const isViewAsked = location.hash.includes("t=");
    align(page, lines, select ? select.value : "start");
    if (isViewAsked) page.views.show(start, end);
  };
});
