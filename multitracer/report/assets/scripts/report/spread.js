// Sum, least, median and most of a series in a part of the time axis: of bars their heights, of marks of segments their
// bytes, of others their values.

const MOST = 1_000_000; // records whose median is found without delay
const NOTHING = { sum: null, least: null, median: null, most: null };
const IN_STREAM = ["acks", "window", "frames_new", "frames_again", "frames_acked", "frames_missing", "frames_polls"];

/** Brings the value of rank `k` to its place: nothing before it is larger, nothing behind it smaller. */
function select(values, k) {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i] < pivot) i += 1;
      while (values[j] > pivot) j -= 1;
      if (i <= j) {
        const kept = values[i];
        values[i++] = values[j];
        values[j--] = kept;
      }
    }
    if (k <= j) high = j;
    else if (k >= i) low = i;
    else return;
  }
}

/** The median of some numbers, of an even count the mean of both in the middle; puts them into another order. */
function medianOf(values) {
  const middle = values.length >> 1;
  select(values, middle);
  if (values.length % 2) return values[middle];
  let below = -Infinity;
  for (let i = 0; i < middle; i++) if (values[i] > below) below = values[i];
  return (below + values[middle]) / 2;
}

/**
 * Of a series from `start` to `end`: `sum`, `least`, `median`, `most`, each null where there is none. Places in a
 * stream have no sum; above MOST records the median is undefined: it is left out.
 */
function spreadOf(series, start, end) {
  const from = MT.search.lowerBound(series.x, start);
  const to = MT.search.upperBound(series.x, end);
  const isMany = to - from > MOST;
  const values = new Float64Array(isMany ? 0 : Math.max(0, to - from));
  const { y, top } = series;
  const { bytes } = series.columns;
  const hasTop = Boolean(series.columns.top);
  let [count, sum, least, most] = [0, 0, Infinity, -Infinity];
  for (let i = from; i < to; i++) {
    const value = bytes ? bytes[i] : hasTop ? top[i] - y[i] : y[i];
    if (value !== value) continue; // not known
    if (!isMany) values[count] = value;
    count += 1;
    sum += value;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!count) return NOTHING;
  const median = isMany ? undefined : medianOf(values.subarray(0, count));
  return { sum: IN_STREAM.includes(series.name) ? null : sum, least, median, most };
}

MT.spread = { MOST, NOTHING, medianOf, spreadOf };
