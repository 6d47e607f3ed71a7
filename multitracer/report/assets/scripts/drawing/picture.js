// The composite picture of one panel: all records of its series that are too many for marks, in pixels.

const STRIP = 16; // pixels of a strip at the bottom that shows how many events there were when
const GAP = 2; // pixels above a strip
const STRIPS = 1 / 3; // of the height of a picture, for all of its strips together
const SPARSE = 30000; // fewer points than this are drawn larger than a pixel

class Picture {
  /** `width` by `height` pixels that show x0 to x1 and y0 to y1; row 0 is at the bottom. */
  constructor(width, height, x0, x1, y0, y1) {
    Object.assign(this, { width, height, x0, y0 });
    this.perX = width / (x1 - x0);
    this.perY = height / (y1 - y0);
    this.pixels = new Uint32Array(width * height);
  }

  column(x) {
    return Math.floor((x - this.x0) * this.perX);
  }

  /** The row of a value; what lies above or below the picture is at its edge. */
  row(y) {
    const row = Math.floor((y - this.y0) * this.perY);
    return row < 0 ? 0 : row >= this.height ? this.height - 1 : row;
  }

  /** Fills a column of pixels from one row to another, both included. */
  bar(column, low, high, ink) {
    if (column < 0 || column >= this.width) return;
    const end = high * this.width + column;
    for (let at = low * this.width + column; at <= end; at += this.width) this.pixels[at] = ink;
  }

  /** Fills one row from a column up to before another. */
  level(from, to, row, ink) {
    for (let column = Math.max(from, 0), end = Math.min(to, this.width); column < end; column++) {
      this.bar(column, row, row, ink);
    }
  }

  /** A staircase: in each column of pixels all values that it passes, and the last one until the next record. */
  line(series, from, to, ink) {
    const { x, y } = series;
    let column = -1;
    let low = 0;
    let high = 0;
    let last = this.row(y[from > 0 ? from - 1 : from]);
    for (let i = from; i < to; i++) {
      const next = this.column(x[i]);
      const row = this.row(y[i]);
      if (next !== column) {
        if (column >= 0) this.bar(column, low, high, ink);
        this.level(column + 1, next, last, ink);
        column = next;
        low = Math.min(last, row);
        high = Math.max(last, row);
      } else {
        if (row < low) low = row;
        if (row > high) high = row;
      }
      last = row;
    }
    if (column >= 0) this.bar(column, low, high, ink);
    this.level(column + 1, this.width, last, ink);
  }

  /** Bars from y to top. */
  beams(series, from, to, ink) {
    const isWide = to - from < SPARSE;
    for (let i = from; i < to; i++) {
      const column = this.column(series.x[i]);
      const low = this.row(series.y[i]);
      const high = this.row(series.top[i]);
      this.bar(column, low, high, ink);
      if (isWide) this.bar(column + 1, low, high, ink);
    }
  }

  /** Points; a pixel with many of them is darker than one with few. */
  cloud(series, from, to, rgb) {
    const { counts, most } = this.pointsByPixel(series, from, to);
    const scale = 155 / Math.log1p(most);
    const inks = new Uint32Array(most + 1);
    for (let count = 1; count <= most; count++) {
      inks[count] = MT.colours.pixel(rgb, Math.round(100 + scale * Math.log1p(count)));
    }
    for (let at = 0; at < counts.length; at++) if (counts[at]) this.pixels[at] = inks[counts[at]];
  }

  /** How many points cover each pixel, and the largest of these counts. */
  pointsByPixel(series, from, to) {
    const { width, height } = this;
    const counts = new Uint16Array(width * height);
    const size = to - from < SPARSE ? 3 : 1;
    let most = 1;
    for (let i = from; i < to; i++) {
      const column = this.column(series.x[i]);
      if (column < 0 || column >= width) continue;
      const row = this.row(series.y[i]);
      const right = Math.min(column + size, width);
      const above = Math.min(row + size, height);
      for (let r = row; r < above; r++) {
        for (let at = r * width + column, end = r * width + right; at < end; at++) {
          if (counts[at] < 65535 && ++counts[at] > most) most = counts[at];
        }
      }
    }
    return { counts, most };
  }

  /** The height of each of some strips of events. */
  stripOf(count) {
    return Math.max(2, Math.min(STRIP, Math.floor((this.height * STRIPS) / count) - GAP));
  }

  /**
   * Events: a strip as high as `strip`, from row `below` up, shows how many there were when, because a mark for each
   * would hide all else. Returns the row from which the next strip starts.
   */
  events(series, from, to, ink, below, strip) {
    const counts = new Uint32Array(this.width);
    let most = 1;
    for (let i = from; i < to; i++) {
      const column = this.column(series.x[i]);
      if (column >= 0 && column < this.width && ++counts[column] > most) most = counts[column];
    }
    for (let column = 0; column < this.width; column++) {
      if (!counts[column]) continue;
      this.bar(column, below, below + Math.max(1, Math.round((strip * counts[column]) / most)) - 1, ink);
    }
    return below + strip + GAP;
  }
}

MT.Picture = Picture;
