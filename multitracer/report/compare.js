"use strict";
// The comparison's own: every transfer's lines on one axis, moved so that what they are aligned at is at 0.
(function () {
  const laid = JSON.parse(document.getElementById("mt-laid").textContent), names = {};
  laid.forEach((one, i) => { names["acks " + i] = one.name + ", acknowledged"; names["goodput " + i] = one.name + ", goodput"; });
  mtShell(names, async function ({root, models, engine, xr, whole, load, view, drawn}) {
    const lines = await load("all"), select = document.getElementById("mt-align");
    function align(kind) {
      laid.forEach((one, i) => {
        const zero = one.align_s[kind];
        for (const series of ["acks " + i, "goodput " + i]) {
          const line = lines.get(series);
          if (!line) continue;
          engine.drop(series);
          if (zero !== undefined) engine.put(series, line.kind, {x: line.columns.x.map(time => time - zero), y: line.columns.y});
        }
      });
      const all = Array.from(engine.all.values()).filter(series => series.n);
      const first = Math.min(...all.map(series => series.x[0])), last = Math.max(...all.map(series => series.x[series.n - 1]));
      if (all.length) { const margin = 0.02 * (last - first); whole[0] = first - margin; whole[1] = last + margin; }
      engine.forget();
      view(whole[0], whole[1]);
      drawn();
      root.dataset.mtAligned = kind;
    }
    if (select) select.addEventListener("change", () => align(select.value));
    const campaign = models.find(m => m.type === "Figure" && m.name === "campaign");
    if (campaign) campaign.on_event("tap", event => {
      const near = nearest(campaign, event.x, event.y);
      if (near) location.href = near.split("/").map(encodeURIComponent).join("/");
    });
    // The report of the transfer whose point is clicked.
    function nearest(figure, x, y) {
      const sx = figure.inner_width / (figure.x_range.end - figure.x_range.start), sy = figure.inner_height / (figure.y_range.end - figure.y_range.start);
      let best = "", least = 144;
      for (const renderer of figure.renderers) {
        const d = renderer.data_source.data;
        for (let i = 0; i < d.x.length; i++) {
          const distance = Math.pow((d.x[i] - x) * sx, 2) + Math.pow((d.y[i] - y) * sy, 2);
          if (distance < least) { least = distance; best = d.report[i]; }
        }
      }
      return best;
    }
    return async () => {
      const start = xr.start, end = xr.end, asked = location.hash.includes("t=");
      align(select ? select.value : "start");
      if (asked) view(start, end);
    };
  });
})();
