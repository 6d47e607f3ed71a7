"use strict";
// The comparison's own: every transfer's lines on one axis, moved so that what they are aligned at is at 0.
(function () {
  const laid = JSON.parse(document.getElementById("mt-laid").textContent), names = {};
  laid.forEach((one, i) => { names["acks " + i] = one.name + ", acknowledged"; names["goodput " + i] = one.name + ", goodput"; });
  mtShell(names, async function ({root, engine, xr, whole, load, view, drawn}) {
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
    return async () => {
      const start = xr.start, end = xr.end, asked = location.hash.includes("t=");
      align(select ? select.value : "start");
      if (asked) view(start, end);
    };
  });
})();
