// The lane "time": each stretch of the session in the colour of its cause where few are in view, else of each part of
// the view the cause that took most of it.

const PARTS = 1200; // of the view, where there are too many stretches

/** For each of PARTS equal parts of start..end, the seconds that stretches from..to-1 spent on each cause. */
function secondsByPart(stretches, from, to, start, end, causes) {
  const width = (end - start) / PARTS;
  const spent = new Float64Array(PARTS * causes);
  for (let i = from; i < to; i++) {
    const left = Math.max(stretches.left[i], start);
    const right = Math.min(stretches.right[i], end);
    const first = Math.max(0, Math.floor((left - start) / width));
    for (let part = first; part < PARTS && start + part * width < right; part++) {
      const overlap = Math.min(right, start + (part + 1) * width) - Math.max(left, start + part * width);
      spent[part * causes + stretches.cause[i]] += overlap;
    }
  }
  return spent;
}

/** Bars with the cause that took most of each part; neighbouring parts with the same cause share a bar. */
function largestCauses(stretches, from, to, start, end, causes) {
  const width = (end - start) / PARTS;
  const spent = secondsByPart(stretches, from, to, start, end, causes);
  const bars = { left: [], right: [], cause: [] };
  for (let part = 0; part < PARTS; part++) {
    const here = spent.subarray(part * causes, (part + 1) * causes);
    const largest = here.indexOf(Math.max(...here));
    if (!(here[largest] > 0)) continue;
    const left = start + part * width;
    const last = bars.cause.length - 1;
    if (last >= 0 && bars.cause[last] === largest && bars.right[last] >= left - width * 1e-6) {
      bars.right[last] = left + width;
    } else {
      bars.left.push(left);
      bars.right.push(left + width);
      bars.cause.push(largest);
    }
  }
  return bars;
}

/** The stretch at a time, or -1. */
function stretchAt(stretches, time) {
  const i = MT.search.upperBound(stretches.left, time) - 1;
  return i >= 0 && stretches.right[i] >= time ? i : -1;
}

/** The places of all stretches of a cause, the longest first. */
function longestFirst({ left, right, cause }, wanted) {
  const places = [];
  for (let i = 0; i < cause.length; i++) if (cause[i] === wanted) places.push(i);
  return places.sort((a, b) => right[b] - left[b] - (right[a] - left[a]));
}

class Stretches {
  /** `causes` are all causes with their names and colours; `stretches` the columns left, right and cause, or null. */
  constructor(page, frame, causes, stretches) {
    Object.assign(this, { page, frame, causes, stretches });
    this.track = document.querySelector('[data-lane="time"] .track');
    this.visited = {}; // by cause, how many of its stretches were shown
    if (!this.track || !stretches) return;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "where the time went, stretch by stretch");
    this.track.append(this.canvas);
    this.addLegend(this.track.closest("[data-mt-panel]").querySelector(".legend"));
    page.engine.otherDrawings.push(() => this.draw());
  }

  /** A button for each cause that took any time: it shows the longest stretch of it, then the next. */
  addLegend(element) {
    const present = new Set(this.stretches.cause);
    this.causes.forEach(({ name, cause, colour }, place) => {
      if (!present.has(place)) return;
      const button = document.createElement("button");
      button.className = "entry cause";
      button.type = "button";
      button.dataset.cause = cause;
      button.title = "zoom to the next of them, the longest first";
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.style.background = colour;
      button.append(mark, name);
      button.addEventListener("click", () => this.showNext(place));
      element.append(button);
    });
  }

  /** The bars of what is in view, and whether each stretch has its own. */
  inView() {
    const { start, end } = this.page.timeRange;
    const from = MT.search.lowerBound(this.stretches.right, start);
    const to = MT.search.lowerBound(this.stretches.left, end);
    const isExact = to - from <= this.page.engine.stretchLimit;
    const { left, right, cause } = this.stretches;
    const bars = isExact
      ? { left: left.slice(from, to), right: right.slice(from, to), cause: cause.slice(from, to) }
      : largestCauses(this.stretches, from, to, start, end, this.causes.length);
    return { bars, isExact };
  }

  /** Draws what is in view; returns whether each stretch has its own bar. */
  draw() {
    const { bars, isExact } = this.inView();
    if (this.canvas.offsetParent) this.paint(bars, this.page.timeRange.start, this.page.timeRange.end);
    return isExact;
  }

  paint(bars, start, end) {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.frame.width, this.track.clientHeight];
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    Object.assign(this.canvas.style, { left: `${this.frame.left}px`, width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    const perSecond = this.canvas.width / (end - start);
    for (let i = 0; i < bars.left.length; i++) {
      const left = Math.max(0, (bars.left[i] - start) * perSecond);
      const right = Math.min(this.canvas.width, (bars.right[i] - start) * perSecond);
      context.fillStyle = this.causes[bars.cause[i]].colour;
      context.fillRect(left, 0, right - left, this.canvas.height);
    }
  }

  /** What the time at a place went to, in words. */
  describe(time) {
    const i = this.stretches ? stretchAt(this.stretches, time) : -1;
    if (i < 0) return [];
    const [left, right] = [this.stretches.left[i], this.stretches.right[i]];
    const { name } = this.causes[this.stretches.cause[i]];
    return [name, `${left.toFixed(6)} s to ${right.toFixed(6)} s`, `${(1e3 * (right - left)).toFixed(3)} ms`];
  }

  /** Shows the longest stretch of a cause, at the next call the second longest, and so on. */
  showNext(wanted) {
    const places = longestFirst(this.stretches, wanted);
    const visit = (this.visited[wanted] || 0) % places.length;
    this.visited[wanted] = visit + 1;
    const [left, right] = [this.stretches.left[places[visit]], this.stretches.right[places[visit]]];
    const room = (right - left) * 0.5;
    this.page.views.show(left - room, right + room);
  }
}

MT.stretches = { largestCauses, stretchAt, longestFirst, Stretches };
