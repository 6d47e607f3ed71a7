// The strip "where the time went": each stretch where few are in view, else the cause that took most of each part.

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

class AccountingStrip {
  /** `causes` are all causes with their colours; `stretches` the columns left, right and cause, or null. */
  constructor(page, causes, stretches) {
    this.page = page;
    this.causes = causes;
    this.stretches = stretches;
    this.visited = {}; // by cause, how many of its stretches were shown
    page.engine.otherDrawings.push(() => this.draw());
    for (const one of document.querySelectorAll(".cause")) {
      one.addEventListener("click", () => this.showNext(one.dataset.cause));
    }
  }

  /** Draws what is in view; returns whether each stretch has its own bar. */
  draw() {
    const source = this.page.doc.get_model_by_name("accounting");
    if (!this.stretches || !source) return true;
    const { left, right, cause } = this.stretches;
    const { start, end } = this.page.timeRange;
    const from = MT.search.lowerBound(right, start);
    const to = MT.search.lowerBound(left, end);
    const isExact = to - from <= this.page.engine.stretchLimit;
    const bars = isExact
      ? { left: left.slice(from, to), right: right.slice(from, to), cause: Array.from(cause.slice(from, to)) }
      : largestCauses(this.stretches, from, to, start, end, this.causes.length);
    source.data = {
      left: bars.left,
      right: bars.right,
      lane: bars.cause.map(() => "time"),
      cause: bars.cause.map((place) => this.causes[place].cause),
      colour: bars.cause.map((place) => this.causes[place].colour),
    };
    return isExact;
  }

  /** Shows the longest stretch of a cause, at the next call the second longest, and so on. */
  showNext(cause) {
    if (!this.stretches) return;
    const { left, right } = this.stretches;
    const wanted = this.causes.findIndex((one) => one.cause === cause);
    const places = Array.from(this.stretches.cause, (c, i) => (c === wanted ? i : -1)).filter((i) => i >= 0);
    if (!places.length) return;
    places.sort((a, b) => right[b] - left[b] - (right[a] - left[a]));
    const visit = (this.visited[cause] || 0) % places.length;
    this.visited[cause] = visit + 1;
    const i = places[visit];
    const room = (right[i] - left[i]) * 0.5;
    this.page.views.show(left[i] - room, right[i] + room);
  }
}

MT.accounting = { largestCauses, AccountingStrip };
