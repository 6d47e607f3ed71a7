// Moves the part of the time axis that is in view, and goes back to views before.

/**
 * The nearest view to start..end that is allowed: not narrower than `least`, at most twice as wide as all, and not
 * farther from it than its own width. Null when start is not before end.
 */
function clamped(start, end, whole, least) {
  if (!(end > start)) return null;
  const full = whole[1] - whole[0];
  const span = Math.min(Math.max(end - start, least), 2 * full);
  const centred = (start + end - span) / 2;
  const from = Math.min(Math.max(centred, whole[0] - full), whole[1] + full - span);
  return span === end - start && from === centred ? [start, end] : [from, from + span];
}

class Views {
  /** `whole` are the ends of all of the time: a page may change them in place. */
  constructor(timeRange, whole) {
    this.timeRange = timeRange;
    this.whole = whole;
    this.before = [];
    this.last = whole.slice();
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
    const middle = (start + end) / 2;
    const half = ((end - start) / 2) * factor;
    this.show(middle - half, middle + half);
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
