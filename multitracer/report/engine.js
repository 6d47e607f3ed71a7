"use strict";
// Draws what is in view: every record by its own mark where they are few, else one picture a panel,
// made of all of them. Works on whole columns; nothing is thinned.
const mtEngine = (function () {
  const STRETCHES = 6000;   // parts of a bar that are drawn at ease
  const EXACT = 2500;       // marks of a series that a panel draws at ease
  const RARE = 0.2;         // of events fewer: their marks are large
  const BLOCK = 64;         // records that share a least and a greatest value
  const STRIP = 16;         // pixels of the strip at the bottom that shows when too many events were
  const SPARSE = 30000;     // so many points are drawn larger than a pixel

  // The first place in a rising column that is not below the value.
  function lower(column, value) {
    let low = 0, high = column.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  // A series with all its records, and the extent of each block of them.
  function series(name, kind, columns, step) {
    const n = columns.x.length, blocks = Math.ceil(n / BLOCK), low = new Float64Array(blocks), high = new Float64Array(blocks);
    const y = columns.y, top = columns.top || y;
    for (let b = 0; b < blocks; b++) {
      let least = Infinity, most = -Infinity;
      for (let i = b * BLOCK, end = Math.min(n, i + BLOCK); i < end; i++) {
        if (y[i] < least) least = y[i];
        if (top[i] > most) most = top[i];
      }
      low[b] = least; high[b] = most;
    }
    return {name: name, kind: kind, step: step || 1, columns: columns, n: n, y: y, top: top, x: columns.x, low: low, high: high};
  }

  // The extent of records from..to-1.
  function extent(one, from, to) {
    let low = Infinity, high = -Infinity, i = from;
    while (i < to) {
      if (i % BLOCK === 0 && i + BLOCK <= to) {
        const b = i / BLOCK;
        if (one.low[b] < low) low = one.low[b];
        if (one.high[b] > high) high = one.high[b];
        i += BLOCK;
      } else {
        if (one.y[i] < low) low = one.y[i];
        if (one.top[i] > high) high = one.top[i];
        i += 1;
      }
    }
    return [low, high];
  }

  function colour(text) {
    const value = parseInt(text.slice(1), 16);
    return [value >> 16, value >> 8 & 255, value & 255];
  }
  function packed(rgb, alpha) { return (alpha << 24 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0; }

  // The picture of one panel: W by H pixels, row 0 at the bottom.
  function Picture(width, height, x0, x1, y0, y1) {
    this.W = width; this.H = height; this.x0 = x0; this.y0 = y0;
    this.sx = width / (x1 - x0); this.sy = height / (y1 - y0);
    this.pixels = new Uint32Array(width * height);
  }
  Picture.prototype.row = function (y) {
    const r = Math.floor((y - this.y0) * this.sy);
    return r < 0 ? 0 : r >= this.H ? this.H - 1 : r;
  };
  Picture.prototype.bar = function (column, r0, r1, ink) {
    if (column < 0 || column >= this.W) return;
    for (let at = r0 * this.W + column, end = r1 * this.W + column; at <= end; at += this.W) this.pixels[at] = ink;
  };
  // A staircase: in each column of pixels all that it passes, and the last value on to the next.
  Picture.prototype.line = function (one, from, to, ink) {
    const x = one.x, y = one.y;
    let column = -1, low = 0, high = 0, last = from > 0 ? this.row(y[from - 1]) : this.row(y[from]);
    for (let i = from; i < to; i++) {
      const c = Math.floor((x[i] - this.x0) * this.sx), r = this.row(y[i]);
      if (c !== column) {
        if (column >= 0) this.bar(column, low, high, ink);
        for (let between = Math.max(column + 1, 0), end = Math.min(c, this.W); between < end; between++) this.bar(between, last, last, ink);
        column = c; low = Math.min(last, r); high = Math.max(last, r);
      } else {
        if (r < low) low = r;
        if (r > high) high = r;
      }
      last = r;
    }
    if (column >= 0) this.bar(column, low, high, ink);
    for (let between = Math.max(column + 1, 0); between < this.W; between++) this.bar(between, last, last, ink);
  };
  Picture.prototype.beams = function (one, from, to, ink) {
    const wide = to - from < SPARSE;
    for (let i = from; i < to; i++) {
      const c = Math.floor((one.x[i] - this.x0) * this.sx), low = this.row(one.y[i]), high = this.row(one.top[i]);
      this.bar(c, low, high, ink);
      if (wide) this.bar(c + 1, low, high, ink);
    }
  };
  // Many points in one pixel are darker than one.
  Picture.prototype.cloud = function (one, from, to, rgb) {
    const counts = new Uint16Array(this.W * this.H), size = to - from < SPARSE ? 3 : 1;
    let most = 1;
    for (let i = from; i < to; i++) {
      const c = Math.floor((one.x[i] - this.x0) * this.sx);
      if (c < 0 || c >= this.W) continue;
      const r = this.row(one.y[i]);
      for (let dr = 0; dr < size; dr++) for (let dc = 0; dc < size; dc++) {
        if (c + dc >= this.W || r + dr >= this.H) continue;
        const at = (r + dr) * this.W + c + dc;
        if (counts[at] < 65535 && ++counts[at] > most) most = counts[at];
      }
    }
    const scale = 155 / Math.log1p(most), inks = new Uint32Array(most + 1);
    for (let k = 1; k <= most; k++) inks[k] = packed(rgb, Math.round(100 + scale * Math.log1p(k)));
    for (let at = 0; at < counts.length; at++) if (counts[at]) this.pixels[at] = inks[counts[at]];
  };
  // Too many events for a mark each would hide all else: a strip at the bottom shows how many there were when.
  Picture.prototype.events = function (one, from, to, ink, below) {
    const counts = new Uint32Array(this.W);
    let most = 1;
    for (let i = from; i < to; i++) {
      const c = Math.floor((one.x[i] - this.x0) * this.sx);
      if (c >= 0 && c < this.W && ++counts[c] > most) most = counts[c];
    }
    const top = Math.min(STRIP, this.H >> 2);
    for (let c = 0; c < this.W; c++) if (counts[c]) this.bar(c, below, below + Math.max(1, Math.round(top * counts[c] / most)), ink);
    return below + top + 2;
  };

  function engine(doc, models) {
    const xr = doc.get_model_by_name("xr"), all = new Map();
    const NDArray = Bokeh.require("core/util/ndarray").Uint32NDArray;
    const figures = models.filter(m => m.type === "Figure" && String(m.name).startsWith("panel ")).sort((a, b) => number(a) - number(b));
    const panels = figures.map(figure => ({figure: figure, image: null, parts: []}));
    function number(figure) { return Number(String(figure.name).split(" ")[1]); }

    for (const panel of panels) {
      const byName = new Map();
      for (const renderer of panel.figure.renderers) {
        const source = renderer.data_source;
        if (!source || !source.name) continue;
        if (source.name.startsWith("image ")) { panel.image = renderer; continue; }
        if (!source.tags.includes("series")) continue;
        if (!byName.has(source.name)) byName.set(source.name, {name: source.name, source: source, renderers: [], fitted: renderer.name !== "not fitted"});
        byName.get(source.name).renderers.push(renderer);
        if (renderer.properties.visible) renderer.properties.visible.change.connect(() => { draw(panel); if (api.hidden) api.hidden(); });
      }
      panel.parts = Array.from(byName.values());
    }

    function inkOf(part) {
      for (const renderer of part.renderers) for (const key of ["line_color", "fill_color"]) {
        const value = renderer.glyph[key] && renderer.glyph[key].value;
        if (typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value)) return colour(value);
      }
      return [127, 127, 127];
    }

    // Fits the y axis to what is in view, and draws it; returns whether every record has its own mark.
    function draw(panel) {
      const figure = panel.figure, start = xr.start, end = xr.end, shown = [];
      let low = Infinity, high = -Infinity, exact = true, records = 0, thinned = false;
      for (const part of panel.parts) {
        const one = all.get(part.name);
        if (!one) continue;
        if (!part.renderers.some(renderer => renderer.visible)) continue;
        let from = lower(one.x, start), to = lower(one.x, end);
        while (to < one.n && one.x[to] === end) to += 1;
        const inside = to - from, seen = to;
        if (one.kind === "line") { from = Math.max(0, from - 1); to = Math.min(one.n, to + 1); }
        if (part.fitted && to > from) {
          const [least, most] = extent(one, from, Math.max(from + 1, seen));
          if (least < low) low = least;
          if (most > high) high = most;
        }
        records += inside;
        if (one.step > 1 && inside) thinned = true;
        shown.push({part: part, one: one, from: from, to: to, few: inside <= (one.kind === "event" ? api.most * RARE : api.most)});
      }
      if (figure.y_range.type === "Range1d" && panel.parts.length) {
        for (const span of figure.center.concat(figure.renderers)) {
          if (span.type === "Span" && span.name === "rate" && low <= high) high = Math.max(high, Math.min(span.location, 3 * high));
        }
        if (low <= high) {
          const margin = (high - low) * 0.05 || Math.max(Math.abs(high) * 0.05, 1);
          figure.y_range.setv({start: low - margin, end: high + margin});
        }
      }
      const order = {line: 1, cloud: 0, beam: 2, event: 3};
      const many = shown.filter(s => !s.few).sort((a, b) => order[a.one.kind] - order[b.one.kind]);
      for (const s of shown) set(s.part, s.few ? s : null);
      if (many.length) { exact = false; paint(panel, many); } else if (panel.painted) clear(panel);
      panel.exact = exact && !thinned; panel.records = records; panel.thinned = thinned;
      return panel.exact;
    }

    function set(part, window) {
      if (!window && part.empty) return;
      const one = all.get(part.name), data = {};
      for (const name of Object.keys(part.source.data)) {
        const column = one.columns[name];
        data[name] = window && column && window.to > window.from ? column.slice(window.from, window.to) : [NaN];
      }
      const lengths = Object.values(data).map(column => column.length), size = Math.max(...lengths);
      for (const name of Object.keys(data)) if (data[name].length !== size) data[name] = new Array(size).fill(NaN);
      part.source.data = data;
      part.empty = !window;
    }

    function paint(panel, many) {
      const figure = panel.figure, ratio = window.devicePixelRatio || 1, yr = figure.y_range;
      const width = Math.max(1, Math.round((figure.inner_width || 1000) * ratio)), height = Math.max(1, Math.round((figure.inner_height || 200) * ratio));
      const picture = new Picture(width, height, xr.start, xr.end, yr.start, yr.end);
      let below = 0;
      for (const s of many) {
        const rgb = inkOf(s.part), ink = packed(rgb, 255);
        if (s.one.kind === "line") picture.line(s.one, s.from, s.to, ink);
        else if (s.one.kind === "beam") picture.beams(s.one, s.from, s.to, ink);
        else if (s.one.kind === "event") below = picture.events(s.one, s.from, s.to, ink, below);
        else picture.cloud(s.one, s.from, s.to, rgb);
      }
      panel.image.data_source.data = {
        image: [new NDArray(picture.pixels, [height, width])], x: [xr.start], y: [yr.start], dw: [xr.end - xr.start], dh: [yr.end - yr.start],
      };
      panel.painted = true;
    }
    function clear(panel) {
      panel.image.data_source.data = {image: [new NDArray(new Uint32Array(1), [1, 1])], x: [xr.start], y: [panel.figure.y_range.start], dw: [1e-9], dh: [1e-9]};
      panel.painted = false;
    }

    // Of some series, the record drawn nearest to a place in a panel; none beyond 12 pixels.
    function nearest(figure, names, x, y) {
      const yr = figure.y_range, sx = (figure.inner_width || 1000) / (xr.end - xr.start), sy = (figure.inner_height || 200) / (yr.end - yr.start);
      const reach = 12;
      let best = null, least = reach * reach;
      const shown = new Set(panels.filter(panel => panel.figure === figure).flatMap(panel => panel.parts.filter(part => part.renderers.some(r => r.visible)).map(part => part.name)));
      for (const name of names) {
        const one = all.get(name);
        if (!one || !shown.has(name)) continue;
        for (let i = lower(one.x, x - reach / sx); i < one.n && one.x[i] <= x + reach / sx; i++) {
          const dx = (one.x[i] - x) * sx, inside = y >= one.y[i] && y <= one.top[i];
          const dy = inside ? 0 : Math.min(Math.abs(one.y[i] - y), Math.abs(one.top[i] - y)) * sy, distance = dx * dx + dy * dy;
          if (distance < least) { least = distance; best = {name: name, i: i}; }
        }
      }
      return best;
    }

    // How many records each series has from start to end, and what they add up to: bytes of bars; of lines the value
    // in force before and the last. Of a thinned series nothing can be counted.
    function sums(start, end) {
      const found = [];
      for (const panel of panels) for (const part of panel.parts) {
        const one = all.get(part.name);
        if (!one || !one.n) continue;
        const from = lower(one.x, start);
        let to = lower(one.x, end);
        while (to < one.n && one.x[to] === end) to += 1;
        let total = null;
        if (one.columns.top) { total = 0; for (let i = from; i < to; i++) total += one.top[i] - one.y[i]; }
        const before = from > 0 ? one.y[from - 1] : null, last = to > from ? one.y[to - 1] : before;
        found.push({name: part.name, kind: one.kind, step: one.step, records: to - from, total: total, before: before, last: last});
      }
      return found;
    }

    // Bytes of bars in equal parts of the whole axis.
    function binned(names, start, end, bins) {
      const sums = new Float64Array(bins), scale = bins / (end - start);
      for (const name of names) {
        const one = all.get(name);
        if (!one) continue;
        for (let i = 0; i < one.n; i++) {
          const bin = Math.floor((one.x[i] - start) * scale);
          if (bin >= 0 && bin < bins) sums[bin] += one.step * (one.top[i] - one.y[i]);
        }
      }
      return sums;
    }

    // Every value at a time: of lines the one in force, of other series the record nearest to it.
    function at(time) {
      const found = [];
      for (const panel of panels) for (const part of panel.parts) {
        const one = all.get(part.name);
        if (!one || !one.n || !part.renderers.some(renderer => renderer.visible)) continue;
        let i = lower(one.x, time);
        if (one.kind === "line") { while (i < one.n && one.x[i] === time) i += 1; i -= 1; } else if (i === one.n || (i > 0 && time - one.x[i - 1] < one.x[i] - time)) i -= 1;
        if (i < 0) continue;
        found.push({name: part.name, label: part.label || part.name, i: i, x: one.x[i], y: one.y[i], top: one.columns.top ? one.columns.top[i] : null, record: one.columns.record ? one.columns.record[i] : null});
      }
      return found;
    }

    const api = {
      hidden: null,  // told when a series was hidden or shown
      hiding: () => panels.flatMap(panel => panel.parts.filter(part => part.renderers.every(r => !r.visible)).map(part => part.name)),
      hide: names => panels.forEach(panel => panel.parts.forEach(part => { if (names.includes(part.name)) part.renderers.forEach(r => { r.visible = false; }); })),
      most: EXACT, stretches: STRETCHES, xr: xr, figures: figures, panels: panels, all: all, at: at, sums: sums, binned: binned, nearest: nearest, lower: lower,
      also: [],  // what else is drawn with every view: functions that say whether theirs is exact
      put: (name, kind, columns, step) => all.set(name, series(name, kind, columns, step)),
      drop: name => all.delete(name),
      forget: () => panels.forEach(panel => panel.parts.forEach(part => { part.empty = false; if (!all.has(part.name)) blank(part); })),
      draw: () => [...panels.map(draw), ...api.also.map(other => other())].every(Boolean),
    };
    return api;
    function blank(part) {
      const data = {};
      for (const name of Object.keys(part.source.data)) data[name] = [NaN];
      part.source.data = data;
    }
  }
  return engine;
})();
