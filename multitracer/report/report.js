"use strict";
// The report's own: findings, causes, connections, a selection, and what belongs together in two layers.
(function () {
  const names = {segments: "sent", acks: "acknowledged", window: "advertised window", sacks: "SACK", again_no: "resent, needed", again_yes: "resent, needless", again_unknown: "resent, undecided", cwnd: "congestion window, bytes", ssthresh: "slow start threshold, bytes", outstanding: "outstanding, bytes", rtt: "round trip, ms", queue: "wait for the first frame, ms", srtt: "smoothed round trip, ms", rto: "retransmission timer, ms", frames_new: "frame sent", frames_again: "frame repeated", frames_acked: "frames acknowledged", frames_missing: "frame reported missing", frames_polls: "poll", goodput: "goodput, kbit/s"};
  mtShell(names, async function ({doc, root, models, engine, reread, xr, figures, whole, load, view, drawn, keys, told, rowOf}) {
    // Findings.
    const rows = Array.from(document.querySelectorAll("#mt-findings tbody tr"));
    let current = -1;
    function show(place, focus) {
      if (!rows.length) return;
      current = (place + rows.length) % rows.length;
      rows.forEach((row, i) => row.classList.toggle("current", i === current));
      const row = rows[current], start = Number(row.dataset.start), end = Number(row.dataset.end);
      const room = Math.max((end - start) * 0.5, (whole[1] - whole[0]) * 0.01, 0.05);
      view(start - room, end + room);
      if (focus) row.scrollIntoView({block: "nearest"});
    }
    rows.forEach((row, i) => {
      row.addEventListener("click", () => show(i, false));
      row.addEventListener("keydown", event => { if (event.key === "Enter") show(i, false); });
    });

    // Where the time went: each stretch where they are few, else what most of each part of the view went to.
    const causes = JSON.parse(document.getElementById("mt-causes").textContent), PARTS = 1200;
    const stretches = (await load("accounting")).get("accounting"), accounting = stretches ? stretches.columns : null;
    function drawAccounting() {
      const source = doc.get_model_by_name("accounting");
      if (!accounting || !source) return true;
      let from = engine.lower(accounting.right, xr.start), to = engine.lower(accounting.left, xr.end);
      const few = to - from <= engine.stretches, parts = few ? {left: accounting.left.slice(from, to), right: accounting.right.slice(from, to), cause: Array.from(accounting.cause.slice(from, to))} : mostOf(from, to);
      source.data = {left: parts.left, right: parts.right, lane: parts.cause.map(() => "time"), cause: parts.cause.map(c => causes[c].cause), colour: parts.cause.map(c => causes[c].colour)};
      return few;
    }
    function mostOf(from, to) {
      const width = (xr.end - xr.start) / PARTS, spent = new Float64Array(PARTS * causes.length), found = {left: [], right: [], cause: []};
      for (let i = from; i < to; i++) {
        const left = Math.max(accounting.left[i], xr.start), right = Math.min(accounting.right[i], xr.end);
        for (let part = Math.max(0, Math.floor((left - xr.start) / width)); part < PARTS && xr.start + part * width < right; part++)
          spent[part * causes.length + accounting.cause[i]] += Math.min(right, xr.start + (part + 1) * width) - Math.max(left, xr.start + part * width);
      }
      for (let part = 0; part < PARTS; part++) {
        const here = spent.subarray(part * causes.length, (part + 1) * causes.length), most = here.indexOf(Math.max(...here));
        if (!(here[most] > 0)) continue;
        const last = found.cause.length - 1, left = xr.start + part * width;
        if (last >= 0 && found.cause[last] === most && found.right[last] >= left - width * 1e-6) found.right[last] = left + width;
        else { found.left.push(left); found.right.push(left + width); found.cause.push(most); }
      }
      return found;
    }
    engine.also.push(drawAccounting);

    // The stretches of a cause, the longest first, one after the other.
    const visited = {};
    function nextOf(cause) {
      if (!accounting) return;
      const d = accounting, wantedCause = causes.findIndex(one => one.cause === cause);
      const places = Array.from(d.cause, (c, i) => c === wantedCause ? i : -1).filter(i => i >= 0);
      if (!places.length) return;
      places.sort((a, b) => (d.right[b] - d.left[b]) - (d.right[a] - d.left[a]));
      const i = places[(visited[cause] = (visited[cause] === undefined ? 0 : visited[cause] + 1) % places.length)];
      const room = (d.right[i] - d.left[i]) * 0.5;
      view(d.left[i] - room, d.right[i] + room);
    }
    document.querySelectorAll(".cause").forEach(one => one.addEventListener("click", () => nextOf(one.dataset.cause)));

    function retransmission(step) {
      const times = ["again_no", "again_yes", "again_unknown"].flatMap(name => {
        const series = engine.all.get(name);
        return series ? Array.from(series.x) : [];
      }).sort((a, b) => a - b);
      if (!times.length) return;
      const middle = (xr.start + xr.end) / 2, half = Math.min((xr.end - xr.start) / 2, (whole[1] - whole[0]) / 40);
      const next = step > 0 ? times.find(t => t > middle + 1e-7) : times.filter(t => t < middle - 1e-7).pop();
      const to = next === undefined ? (step > 0 ? times[0] : times[times.length - 1]) : next;
      view(to - half, to + half);
    }

    // A connection's series, beside the link's, in the panels.
    const select = document.getElementById("mt-connection");
    let chosen = [], wanted = null;
    async function choose(number) {
      wanted = number;
      const found = await load(number);
      if (wanted !== number) return;
      chosen.forEach(engine.drop);
      chosen = Array.from(found.keys());
      found.forEach((one, name) => { if (one.kind !== "map") engine.put(name, one.kind, one.columns, one.step); });
      chooseNone();
      alignSlope();
      engine.forget();
      overview();
      drawn();
      reread();
      root.dataset.mtConnection = number;
    }

    // The link's rate begins where the connection's data does.
    function alignSlope() {
      const first = engine.all.get("segments"), slope = models.find(m => m.type === "Slope" && m.name === "rate");
      if (slope && first && first.n) slope.setv({y_intercept: first.y[0] - slope.gradient * first.x[0]});
    }
    if (select) select.addEventListener("change", () => choose(select.value));

    // All of the trace in small.
    function overview() {
      const bins = 300, width = (whole[1] - whole[0]) / bins, rate = doc.get_model_by_name("overview rate");
      const resent = ["again_no", "again_yes", "again_unknown"];
      let most = 0;
      for (const [name, names] of [["overview sent", ["segments", ...resent]], ["overview again", resent]]) {
        const source = doc.get_model_by_name(name), sums = engine.binned(names, whole[0], whole[1], bins);
        const edges = Array.from({length: bins + 1}, (_, i) => whole[0] + i * width), top = Array.from(sums, bytes => bytes * 8e-3 / width);
        source.data = {left: edges.slice(0, -1), right: edges.slice(1), top: top};
        most = Math.max(most, ...top);
      }
      rate.setv({start: 0, end: most || 1});
    }

    // A part of the axis that was dragged over: marked in every panel, and counted.
    const boxes = figures.map((_, i) => doc.get_model_by_name("box " + i)).filter(Boolean);
    const selection = document.getElementById("mt-selection");
    function choosePart(start, end) {
      const span = end - start;
      boxes.forEach(box => box.setv({left: start, right: end, visible: true}));
      document.getElementById("mt-selection-time").textContent = start.toFixed(9) + " s to " + end.toFixed(9) + " s (" + span.toPrecision(6) + " s)";
      selection.querySelector("tbody").replaceChildren(...engine.sums(start, end).map(one => {
        if (one.step > 1) return rowOf([names[one.name] || one.name, "not counted: thinned", "", "", ""]);
        const bytes = SEGMENTS.includes(one.name) ? one.total : one.name === "acks" ? (one.last === null ? 0 : one.last - (one.before === null ? 1 : one.before)) : null;
        return rowOf([names[one.name] || one.name, told(one.records), told(one.records / span), told(bytes), bytes === null ? "" : told(bytes * 8e-3 / span)]);
      }));
      selection.hidden = false;
    }
    function chooseNone() {
      mark([], []);
      boxes.forEach(box => box.setv({visible: false}));
      selection.hidden = true;
    }
    for (const figure of figures) figure.on_event("selectiongeometry", event => {
      if (event.final && event.geometry.x1 > event.geometry.x0) choosePart(event.geometry.x0, event.geometry.x1);
    });
    document.getElementById("mt-selection-zoom").addEventListener("click", () => view(boxes[0].left, boxes[0].right));
    document.getElementById("mt-selection-clear").addEventListener("click", chooseNone);

    // A click on a segment shows the frames that carried it; on a frame, its segments.
    let carried = null;
    const told_of = document.getElementById("mt-chosen");
    const SEGMENTS = ["segments", "again_no", "again_yes", "again_unknown"], FRAMES = ["frames_new", "frames_again"];
    function clicked(figure, event) {
      const wanted = engine.panels.find(panel => panel.figure === figure).parts.map(part => part.name);
      const near = engine.nearest(figure, wanted.filter(name => SEGMENTS.includes(name) || FRAMES.includes(name)), event.x, event.y);
      if (!near) return mark([], []);
      if (SEGMENTS.includes(near.name)) showSegment(near); else showFrame(near);
    }
    function mark(segments, frames) {
      const put = (name, data) => { const source = doc.get_model_by_name(name); if (source) source.data = data; };
      const some = list => list.length ? list : [{x: NaN, y: NaN, top: NaN}];
      put("chosen segments", {x: some(segments).map(s => s.x), y: some(segments).map(s => s.y), top: some(segments).map(s => s.top)});
      put("chosen frames", {x: some(frames).map(f => f.x), y: some(frames).map(f => f.y)});
      if (!segments.length && !frames.length) told_of.textContent = "";
    }
    function bytesOf(s) { return "bytes " + told(s.y) + " to " + told(s.top) + ", sent at " + s.x.toFixed(6) + " s (record " + s.record + ")"; }
    function showSegment(near) {
      const series = engine.all.get(near.name).columns, i = near.i;
      const one = {x: series.x[i], y: series.y[i], top: series.top[i], record: series.record[i]}, frames = [];
      if (carried) for (let k = 0; k < carried.x.length; k++) if (carried.row[k] === series.row[i]) frames.push({x: carried.x[k], y: carried.y[k], again: carried.again[k]});
      mark([one], frames);
      const repeats = frames.filter(f => f.again).length;
      told_of.textContent = "Chosen: " + bytesOf(one) + (frames.length ? "; carried by " + frames.length + " frames, " + repeats + " of them repeats, from " + frames[0].x.toFixed(6) + " to " + frames[frames.length - 1].x.toFixed(6) + " s" : carried ? "; no frame that was logged carried it" : "");
    }
    function showFrame(near) {
      const series = engine.all.get(near.name).columns, frame = {x: series.x[near.i], y: series.y[near.i]}, rows = new Set(), segments = [];
      if (carried) for (let k = engine.lower(carried.x, frame.x); k < carried.x.length && carried.x[k] === frame.x; k++) if (carried.y[k] === frame.y) rows.add(carried.row[k]);
      for (const name of SEGMENTS) {
        const one = engine.all.get(name);
        if (one && rows.size) for (let i = 0; i < one.n; i++) if (rows.has(one.columns.row[i])) segments.push({x: one.x[i], y: one.y[i], top: one.columns.top[i], record: one.columns.record[i]});
      }
      mark(segments, [frame]);
      told_of.textContent = "Chosen: frame " + told(frame.y) + ", sent at " + frame.x.toFixed(6) + " s" + (segments.length ? "; it carried " + segments.map(bytesOf).join(" and ") : "; no segment drawn here was found in it");
    }
    for (const figure of figures) figure.on_event("tap", event => clicked(figure, event));

    Object.assign(keys, {
      n: () => show(current + 1, true), p: () => show(current < 0 ? rows.length - 1 : current - 1, true),
      r: () => retransmission(1), R: () => retransmission(-1), Escape: chooseNone, m: () => choosePart(xr.start, xr.end),
    });
    const link = await load("link");
    link.forEach((one, name) => { if (one.kind !== "map") engine.put(name, one.kind, one.columns, one.step); });
    carried = link.has("carried") ? link.get("carried").columns : null;
    const columns = Array.from(document.querySelectorAll("script.mt-column")).filter(e => e.dataset.group !== "accounting");
    return () => choose(select ? select.value : columns.length ? columns[0].dataset.group : "link");
  });
})();
