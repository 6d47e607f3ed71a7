"use strict";
// What all pages share: the engine and its columns, moving about and back, the cursor's values, themes,
// keys, and what is kept in the address. `page` is called with these, and says what is drawn first.
function mtShell(names, page) {
  const root = document.documentElement;

  function start() {
    const doc = (window.Bokeh && Bokeh.documents || [])[0];
    if (!doc || !doc.is_idle) { setTimeout(start, 30); return; }
    run(doc).catch(error => { console.error(error); document.getElementById("mt-status").textContent = "Only a first sight is drawn: " + error; });
  }

  async function run(doc) {
    const models = Array.from(doc.all_models || doc._all_models.values());
    const engine = mtEngine(doc, models), xr = engine.xr, figures = engine.figures;
    const whole = [xr.start, xr.end], hash = new URLSearchParams(location.hash.slice(1));
    const stack = [];
    let last = whole.slice();

    // The columns of a group of series, a connection or the link, taken apart when they are first needed.
    const groups = new Map();
    function load(group) {
      if (groups.has(group)) return groups.get(group);
      const elements = Array.from(document.querySelectorAll("script.mt-column")).filter(e => e.dataset.group === group);
      const made = Promise.all(elements.map(async e => ({series: e.dataset.series, kind: e.dataset.kind, step: Number(e.dataset.step), column: e.dataset.column, values: await mtCodec.column(e)}))).then(columns => {
        const found = new Map();
        for (const one of columns) {
          if (!found.has(one.series)) found.set(one.series, {kind: one.kind, step: one.step, columns: {}});
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
      const thinned = engine.panels.some(panel => panel.thinned);
      status.textContent = (exact ? "exact: each of " : thinned ? "thinned, and so not all: " : "overview: a picture of ") + records.toLocaleString("en") + " records, " + xr.start.toFixed(6) + " s to " + xr.end.toFixed(6) + " s (" + (xr.end - xr.start).toPrecision(4) + " s)";
      status.dataset.exact = exact;
      clearTimeout(moved.timer);
      moved.timer = setTimeout(settled, 300);
    }
    function settled() {
      if (last[0] !== xr.start || last[1] !== xr.end) { stack.push(last); last = [xr.start, xr.end]; }
      history.replaceState(null, "", "#t=" + xr.start.toFixed(9) + "," + xr.end.toFixed(9) + "&theme=" + root.dataset.theme + engine.hiding().map(name => "&hide=" + name).join(""));
    }

    // What is asked for, no narrower than times can be told apart, and neither far wider than all nor far from it.
    function view(start, end) {
      if (!(end > start)) return;
      const full = whole[1] - whole[0], span = Math.min(Math.max(end - start, xr.min_interval || 0), 2 * full);
      const from = Math.min(Math.max((start + end - span) / 2, whole[0] - full), whole[1] + full - span);
      xr.setv(span === end - start && from === (start + end - span) / 2 ? {start: start, end: end} : {start: from, end: from + span});
    }
    function zoom(factor) {
      const middle = (xr.start + xr.end) / 2, half = (xr.end - xr.start) / 2 * factor;
      view(middle - half, middle + half);
    }
    function pan(share) { const by = (xr.end - xr.start) * share; view(xr.start + by, xr.end + by); }
    function back() {
      clearTimeout(moved.timer);
      const here = xr.start === last[0] && xr.end === last[1], before = here ? stack.pop() : last;
      if (before) { last = before; view(before[0], before[1]); }
    }

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
    let readTime = null;
    function reread() { if (readTime !== null) readAt(readTime); }
    function readAt(time) {
      readTime = time;
      const rows = engine.at(time).map(one => {
        const value = one.top === null ? told(one.y) : told(one.y) + " to " + told(one.top);
        return rowOf([names[one.name] || one.name, value, one.x.toFixed(9), one.record === null ? "" : String(one.record)]);
      });
      document.getElementById("mt-readout-time").textContent = time.toFixed(9) + " s";
      readout.replaceChildren(...rows);
    }
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
        else if (["Scatter", "Segment", "Line", "Step"].includes(m.type) && isInk(m)) ink(m, fg);
      }
    }
    function isInk(glyph) { return glyph._ink || ["#000000", "black"].includes(glyph.line_color && glyph.line_color.value); }
    function ink(glyph, colour) { glyph._ink = true; glyph.setv({line_color: {value: colour}}); }
    function toggle() { theme(root.dataset.theme === "dark" ? "light" : "dark"); drawn(); settled(); }
    document.getElementById("mt-theme").addEventListener("click", toggle);

    const help = document.getElementById("mt-help");
    document.getElementById("mt-help-button").addEventListener("click", () => help.showModal());

    const keys = {
      w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.2), d: () => pan(0.2), "0": () => view(whole[0], whole[1]),
      u: back, t: toggle, ArrowLeft: () => moveCursor(-0.01), ArrowRight: () => moveCursor(0.01), "?": () => help.showModal(),
    };
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || help.open) return;
      const action = keys[event.key];
      if (action) { event.preventDefault(); action(); }
    });

    theme(["light", "dark"].includes(hash.get("theme")) ? hash.get("theme") : (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    const first = await page({doc, root, models, engine, xr, figures, whole, names, load, view, drawn, reread, keys, told, rowOf});
    engine.hide(hash.getAll("hide"));
    engine.hidden = moved;
    xr.properties.start.change.connect(moved);
    xr.properties.end.change.connect(moved);
    const wanted = (hash.get("t") || "").split(",").map(Number);
    if (wanted.length === 2 && wanted.every(Number.isFinite)) view(wanted[0], wanted[1]);
    await first();
    root.dataset.mtReady = "1";
  }

  start();
}
