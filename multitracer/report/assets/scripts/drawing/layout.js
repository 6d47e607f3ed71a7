// What of a series is in view, and how it is drawn: by marks when few, else in the panel's picture.

const EVENT_SHARE = 0.2; // marks of events are large: fewer of them are few
const PAINTED_FIRST = ["cloud", "line", "beam", "event"];

/**
 * The records of a series from `start` to `end`: from..to-1 are drawn, `inside` of them lie in view.
 *
 * A line is drawn from the record before the view to the one after it; `seen` is the end of those in view.
 */
function inView(series, start, end) {
  let from = MT.search.lowerBound(series.x, start);
  let to = MT.search.upperBound(series.x, end);
  const seen = to;
  const inside = Math.max(to - from, 0);
  if (series.kind === "line") {
    from = Math.max(0, from - 1);
    to = Math.min(series.n, to + 1);
  }
  return { from, to, seen, inside };
}

/** Whether so many records in view each get their own mark. */
function isFew(kind, inside, limit) {
  return inside <= (kind === "event" ? limit * EVENT_SHARE : limit);
}

/** The ends of a y axis that shows low to high, with some room; zeros alone stand at its lower end. */
function withMargin(low, high) {
  if (low === 0 && high === 0) high = 1;
  const margin = (high - low) * 0.05 || Math.max(Math.abs(high) * 0.05, 1);
  return [low - margin, high + margin];
}

/** Orders kinds of series by when they are painted: what must not be hidden comes last. */
function comparePainting(kind, other) {
  return PAINTED_FIRST.indexOf(kind) - PAINTED_FIRST.indexOf(other);
}

MT.layout = { inView, isFew, withMargin, comparePainting };
