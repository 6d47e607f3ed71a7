"use strict";
// The page's own engine: fits the y axes to what is in view, moves by keys and table, and changes the theme.
(function () {
  const root = document.documentElement;

  function start() {
    const doc = (window.Bokeh && Bokeh.documents || [])[0];
    if (!doc || !doc.is_idle) { setTimeout(start, 30); return; }
    run(doc).catch(error => { console.error(error); document.getElementById("mt-status").textContent = "Only a first sight is drawn: " + error; });
  }

  async function run(doc) {
    const models = Array.from(doc.all_models || doc._all_models.values());
    const engine = mtEngine(doc, models), xr = engine.xr, figures = engine.figures;
    const whole = [xr.start, xr.end];
    const stack = [];
    let last = whole.slice();

    // The columns of a group of series, a connection or the link, taken apart when they are first needed.
    const groups = new Map();
    function load(group) {
      if (groups.has(group)) return groups.get(group);
      const elements = Array.from(document.querySelectorAll("script.mt-column")).filter(e => e.dataset.group === group);
      const made = Promise.all(elements.map(async e => ({series: e.dataset.series, kind: e.dataset.kind, column: e.dataset.column, values: await mtCodec.column(e)}))).then(columns => {
        const found = new Map();
        for (const one of columns) {
          if (!found.has(one.series)) found.set(one.series, {kind: one.kind, columns: {}});
          found.get(one.series).columns[one.column] = one.values;
        }
        return found;
      });
      groups.set(group, made);
      return made;
    }

    const status = document.getElementById("mt-status");
    let waiting = false;
    function moved() {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => { waiting = false; drawn(); });
    }
    function drawn() {
      const begun = performance.now(), exact = engine.draw(), spent = performance.now() - begun;
      window.MT = {engine: engine, exact: exact, drawn_ms: spent, draws: (window.MT ? window.MT.draws : 0) + 1};
      const records = engine.panels.reduce((sum, panel) => sum + (panel.records || 0), 0);
      status.textContent = (exact ? "exact: each of " : "overview: a picture of ") + records.toLocaleString("en") + " records, " + xr.start.toFixed(6) + " s to " + xr.end.toFixed(6) + " s (" + (xr.end - xr.start).toPrecision(4) + " s)";
      status.dataset.exact = exact;
      clearTimeout(moved.timer);
      moved.timer = setTimeout(settled, 300);
    }
    function settled() {
      if (last[0] !== xr.start || last[1] !== xr.end) { stack.push(last); last = [xr.start, xr.end]; }
      history.replaceState(null, "", "#t=" + xr.start.toFixed(9) + "," + xr.end.toFixed(9) + "&theme=" + root.dataset.theme + engine.hiding().map(name => "&hide=" + name).join(""));
    }

    function view(start, end) { if (end > start) xr.setv({start: start, end: end}); }
    function zoom(factor) {
      const middle = (xr.start + xr.end) / 2, half = (xr.end - xr.start) / 2 * factor;
      view(middle - half, middle + half);
    }
    function pan(share) { const by = (xr.end - xr.start) * share; view(xr.start + by, xr.end + by); }
    function back() { const before = stack.pop(); if (before) { last = before; view(before[0], before[1]); } }

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

    // The stretches of a cause, the longest first, one after the other.
    const visited = {};
    function nextOf(cause) {
      const source = doc.get_model_by_name("accounting");
      if (!source) return;
      const d = source.data, places = Array.from(d.cause, (c, i) => c === cause ? i : -1).filter(i => i >= 0);
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
    let chosen = [];
    async function choose(number) {
      const found = await load(number);
      chosen.forEach(engine.drop);
      chosen = Array.from(found.keys());
      found.forEach((one, name) => { if (one.kind !== "map") engine.put(name, one.kind, one.columns); });
      engine.forget();
      overview();
      drawn();
      root.dataset.mtConnection = number;
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
        const bytes = one.kind === "beam" || one.kind === "event" && one.total !== null || one.name === "acks";
        return rowOf([names[one.name] || one.name, told(one.records), told(one.records / span), bytes ? told(one.total) : "", bytes ? told(one.total * 8e-3 / span) : ""]);
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

    let cursor = null;
    function moveCursor(share) {
      const from = cursor === null || cursor < xr.start || cursor > xr.end ? (xr.start + xr.end) / 2 : cursor;
      cursor = Math.min(xr.end, Math.max(xr.start, from + share * (xr.end - xr.start)));
      readAt(cursor);
    }

    function rowOf(texts) {
      const row = document.createElement("tr");
      for (const text of texts) {
        const cell = document.createElement("td");
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    }

    // What every series says at the cursor's time, whatever is drawn.
    const readout = document.querySelector("#mt-readout tbody");
    let pointed = null;
    function told(value) { return value === null || !Number.isFinite(value) ? "" : value.toLocaleString("en", {maximumFractionDigits: 3}); }
    function readAt(time) {
      const rows = engine.at(time).map(one => {
        const value = one.top === null ? told(one.y) : told(one.y) + " to " + told(one.top);
        return rowOf([names[one.name] || one.name, value, one.x.toFixed(9), one.record === null ? "" : String(one.record)]);
      });
      document.getElementById("mt-readout-time").textContent = time.toFixed(9) + " s";
      readout.replaceChildren(...rows);
    }
    const names = {segments: "sent", acks: "acknowledged", window: "advertised window", sacks: "SACK", again_no: "resent, needed", again_yes: "resent, needless", again_unknown: "resent, undecided", cwnd: "congestion window, bytes", ssthresh: "slow start threshold, bytes", outstanding: "outstanding, bytes", rtt: "round trip, ms", queue: "wait for the first frame, ms", srtt: "smoothed round trip, ms", rto: "retransmission timer, ms", frames_new: "frame sent", frames_again: "frame repeated", frames_acked: "frames acknowledged", frames_missing: "frame reported missing", frames_polls: "poll", goodput: "goodput, kbit/s"};
    for (const figure of figures) figure.on_event("mousemove", event => {
      const first = pointed === null;
      pointed = event.x;
      if (first) requestAnimationFrame(() => { const time = pointed; pointed = null; readAt(time); });
    });

    // Light and dark.
    function theme(name) {
      root.dataset.theme = name;
      const style = getComputedStyle(root), fg = style.getPropertyValue("--fg").trim(), bg = style.getPropertyValue("--bg").trim(), line = style.getPropertyValue("--line").trim();
      for (const m of models) {
        if (m.type === "Figure") m.setv({background_fill_color: bg, border_fill_color: bg, outline_line_color: line});
        else if (/Axis$/.test(m.type)) m.setv({axis_label_text_color: fg, major_label_text_color: fg, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: line});
        else if (m.type === "Grid") m.setv({grid_line_color: line, grid_line_alpha: 0.6});
        else if (m.type === "Legend") m.setv({background_fill_color: bg, label_text_color: fg, border_line_color: line});
        else if (m.type === "Title") m.setv({text_color: fg});
        else if ((m.type === "Scatter" || m.type === "Segment" || m.type === "Line") && isInk(m)) ink(m, fg);
      }
    }
    function isInk(glyph) { return glyph._ink || ["#000000", "black"].includes(glyph.line_color && glyph.line_color.value); }
    function ink(glyph, colour) { glyph._ink = true; glyph.setv({line_color: {value: colour}}); }
    function toggle() { theme(root.dataset.theme === "dark" ? "light" : "dark"); settled(); }
    document.getElementById("mt-theme").addEventListener("click", toggle);

    const help = document.getElementById("mt-help");
    document.getElementById("mt-help-button").addEventListener("click", () => help.showModal());

    const keys = {
      w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.2), d: () => pan(0.2), "0": () => view(whole[0], whole[1]),
      n: () => show(current + 1, true), p: () => show(current < 0 ? rows.length - 1 : current - 1, true),
      r: () => retransmission(1), R: () => retransmission(-1), u: back, t: toggle, Escape: chooseNone, m: () => choosePart(xr.start, xr.end), ArrowLeft: () => moveCursor(-0.01), ArrowRight: () => moveCursor(0.01), "?": () => help.showModal(),
    };
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || help.open) return;
      const action = keys[event.key];
      if (action) { event.preventDefault(); action(); }
    });

    const hash = new URLSearchParams(location.hash.slice(1));
    theme(hash.get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    const link = await load("link");
    link.forEach((one, name) => { if (one.kind !== "map") engine.put(name, one.kind, one.columns); });
    carried = link.has("carried") ? link.get("carried").columns : null;
    const columns = document.querySelector("script.mt-column");
    const first = select ? select.value : columns ? columns.dataset.group : "link";
    engine.hide(hash.getAll("hide"));
    engine.hidden = moved;
    xr.properties.start.change.connect(moved);
    xr.properties.end.change.connect(moved);
    const wanted = (hash.get("t") || "").split(",").map(Number);
    if (wanted.length === 2 && wanted.every(Number.isFinite)) view(wanted[0], wanted[1]);
    await choose(first);
    root.dataset.mtReady = "1";
  }

  start();
})();
