"use strict";
// The page's own engine: fits the y axes to what is in view, moves by keys and table, and changes the theme.
(function () {
  const root = document.documentElement;

  function start() {
    const doc = (window.Bokeh && Bokeh.documents || [])[0];
    if (!doc || !doc.is_idle) { setTimeout(start, 30); return; }
    run(doc);
  }

  function run(doc) {
    const models = Array.from(doc.all_models || doc._all_models.values());
    const xr = doc.get_model_by_name("xr");
    const figures = models.filter(m => m.type === "Figure").sort((a, b) => panelNumber(a) - panelNumber(b));
    const whole = [xr.start, xr.end];
    const stack = [];
    let last = whole.slice();

    function panelNumber(figure) { return Number(String(figure.name).split(" ")[1]); }

    // What is in view decides the y range; a hidden renderer does not count.
    function fit(figure) {
      if (figure.y_range.type !== "Range1d") return;
      let low = Infinity, high = -Infinity;
      for (const renderer of figure.renderers) {
        if (!renderer.visible || !renderer.data_source || renderer.name === "not fitted") continue;
        const data = renderer.data_source.data, x = data.x || [], columns = [data.y, data.top].filter(Boolean);
        const steps = renderer.glyph.type === "Step";
        let from = lower(x, xr.start), to = lower(x, xr.end);
        if (steps && from > 0) from -= 1;
        for (const column of columns) for (let i = from; i < to; i++) {
          const v = column[i];
          if (v < low) low = v;
          if (v > high) high = v;
        }
      }
      for (const span of figure.center.concat(figure.renderers)) {
        if (span.type === "Span" && span.name === "rate" && low <= high) high = Math.max(high, Math.min(span.location, 3 * high));
      }
      if (!(low <= high)) return;
      const margin = (high - low) * 0.05 || Math.max(Math.abs(high) * 0.05, 1);
      figure.y_range.setv({start: low - margin, end: high + margin});
    }

    // The first place in a rising column that is not below the value.
    function lower(column, value) {
      let low = 0, high = column.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (column[middle] < value) low = middle + 1; else high = middle;
      }
      return low;
    }

    const status = document.getElementById("mt-status");
    let waiting = false;
    function moved() {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        figures.forEach(fit);
        status.textContent = "in view: " + xr.start.toFixed(6) + " s to " + xr.end.toFixed(6) + " s (" + (xr.end - xr.start).toPrecision(4) + " s)";
        clearTimeout(moved.timer);
        moved.timer = setTimeout(settled, 300);
      });
    }
    function settled() {
      if (last[0] !== xr.start || last[1] !== xr.end) { stack.push(last); last = [xr.start, xr.end]; }
      history.replaceState(null, "", "#t=" + xr.start.toFixed(9) + "," + xr.end.toFixed(9) + "&theme=" + root.dataset.theme);
    }
    xr.properties.start.change.connect(moved);
    xr.properties.end.change.connect(moved);
    for (const figure of figures) for (const renderer of figure.renderers) {
      if (renderer.properties.visible) renderer.properties.visible.change.connect(() => fit(figure));
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

    function retransmission(step) {
      const times = ["again_no", "again_yes", "again_unknown"].flatMap(name => {
        const source = doc.get_model_by_name(name);
        return source ? Array.from(source.data.x) : [];
      }).sort((a, b) => a - b);
      if (!times.length) return;
      const middle = (xr.start + xr.end) / 2, half = Math.min((xr.end - xr.start) / 2, (whole[1] - whole[0]) / 40);
      const next = step > 0 ? times.find(t => t > middle + 1e-7) : times.filter(t => t < middle - 1e-7).pop();
      const to = next === undefined ? (step > 0 ? times[0] : times[times.length - 1]) : next;
      view(to - half, to + half);
    }

    // Another connection's data in the same panels.
    const select = document.getElementById("mt-connection");
    function decoded(value) {
      if (Array.isArray(value)) return value;
      const text = atob(value), bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      return new Float64Array(bytes.buffer);
    }
    function choose(number) {
      const element = document.getElementById("mt-data-" + number);
      if (!element) return;
      const sources = JSON.parse(element.textContent);
      for (const source of models.filter(m => m.type === "ColumnDataSource" && m.name)) {
        if (source.name.startsWith("frames_") || source.name === "findings") continue;
        const columns = sources[source.name], data = {};
        for (const name of Object.keys(source.data)) data[name] = columns && columns[name] !== undefined && columns[name].length ? decoded(columns[name]) : [NaN];
        source.data = data;
      }
      figures.forEach(fit);
    }
    if (select) select.addEventListener("change", () => choose(select.value));

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
      r: () => retransmission(1), R: () => retransmission(-1), u: back, t: toggle, "?": () => help.showModal(),
    };
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || help.open) return;
      const action = keys[event.key];
      if (action) { event.preventDefault(); action(); }
    });

    const hash = new URLSearchParams(location.hash.slice(1));
    theme(hash.get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    const wanted = (hash.get("t") || "").split(",").map(Number);
    if (wanted.length === 2 && wanted.every(Number.isFinite)) view(wanted[0], wanted[1]);
    figures.forEach(fit);
    moved();
    root.dataset.mtReady = "1";
  }

  start();
})();
