// A series: all records of one kind in columns sorted by time, with the extent of each block of them.

const BLOCK = 64; // records that share one stored minimum and maximum

/**
 * A series of the columns x, y and, for bars, top; `kind` says how it is drawn: line, beam, cloud or event.
 *
 * Of a thinned series every `step`-th record is there.
 */
function create(name, kind, columns, step) {
  const count = columns.x.length;
  const y = columns.y;
  const top = columns.top || y;
  const blocks = Math.ceil(count / BLOCK);
  const low = new Float64Array(blocks);
  const high = new Float64Array(blocks);
  for (let block = 0; block < blocks; block++) {
    let least = Infinity;
    let most = -Infinity;
    for (let i = block * BLOCK, end = Math.min(count, i + BLOCK); i < end; i++) {
      if (y[i] < least) least = y[i];
      if (top[i] > most) most = top[i];
    }
    low[block] = least;
    high[block] = most;
  }
  return { name, kind, step: step || 1, columns, n: count, x: columns.x, y, top, low, high };
}

/** The smallest y and the largest top of the records from..to-1; whole blocks are not looked through. */
function extent(series, from, to) {
  let low = Infinity;
  let high = -Infinity;
  let i = from;
  while (i < to) {
    if (i % BLOCK === 0 && i + BLOCK <= to) {
      const block = i / BLOCK;
      if (series.low[block] < low) low = series.low[block];
      if (series.high[block] > high) high = series.high[block];
      i += BLOCK;
    } else {
      if (series.y[i] < low) low = series.y[i];
      if (series.top[i] > high) high = series.top[i];
      i += 1;
    }
  }
  return [low, high];
}

MT.series = { create, extent };
