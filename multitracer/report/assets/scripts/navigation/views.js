// Moves the part of the time axis that is in view, and goes back to views before.

/**
 * The nearest view to start..end within all of the time, not narrower than `least`. Null when start is not before end.
 */
function clamped(start, end, whole, least) {
  if (!(end > start)) return null;
  const span = Math.min(Math.max(end - start, least), whole[1] - whole[0]);
  if (span === end - start && start >= whole[0] && end <= whole[1]) return [start, end];
  const from = Math.max(whole[0], Math.min((start + end - span) / 2, whole[1] - span));
  return [from, Math.min(from + span, whole[1])];
}

class Views {
  /** `whole` are the ends of all of the time: a page may change them in place. */
  constructor(timeRange, whole) {
    this.timeRange = timeRange;
    this.whole = whole;
    this.before = [];
    this.last = whole.slice();
    this.widened = []; // the views from which the reader zoomed in, one step after the other
    this.zoomed = null; // the view that the last such step led to
  }

  get current() {
    return [this.timeRange.start, this.timeRange.end];
  }

  isAtLast() {
    return this.timeRange.start === this.last[0] && this.timeRange.end === this.last[1];
  }

  show(start, end) {
    const found = clamped(start, end, this.whole, this.timeRange.min_interval || 0);
    if (found) this.timeRange.setv({ start: found[0], end: found[1] });
  }

  showAll() {
    this.show(this.whole[0], this.whole[1]);
  }

  /** Widens the view by a factor about its middle. */
  zoom(factor) {
    const [start, end] = this.current;
    this.zoomAt((start + end) / 2, factor);
  }

  /**
   * Widens the view by a factor, while a time stays at its place in it. A step out after steps in leads back to exactly
   * the view that the last of them began at, also where the narrowest view cut that step short.
   */
  zoomAt(time, factor) {
    const [start, end] = this.current;
    if (!this.zoomed || this.zoomed[0] !== start || this.zoomed[1] !== end) this.widened = [];
    const before = factor > 1 ? this.widened.pop() : undefined;
    if (factor < 1) this.widened.push([start, end]);
    if (before) this.show(before[0], before[1]);
    else this.show(time - (time - start) * factor, time + (end - time) * factor);
    this.zoomed = this.current;
  }

  /** Moves the view by a share of its width. */
  pan(share) {
    const [start, end] = this.current;
    const by = (end - start) * share;
    this.show(start + by, end + by);
  }

  /** Keeps the view, once it has come to rest, as one to go back to. */
  remember() {
    if (this.isAtLast()) return;
    this.before.push(this.last);
    this.last = this.current;
  }

  back() {
    const target = this.isAtLast() ? this.before.pop() : this.last;
    if (!target) return;
    this.last = target;
    this.show(target[0], target[1]);
  }
}

MT.views = { clamped, Views };
