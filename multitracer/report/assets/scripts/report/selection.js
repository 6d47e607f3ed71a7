// A selected part of the time axis: marked in every panel, and counted in a table beside them.

const AT_ONCE = 200_000; // records that are counted while the box is drawn
const REST_MS = 100;

/**
 * The bytes that a series carried in a part, null for a series that does not count any: of segments and of the marks of
 * their fates how long they are, of acknowledgements how far they rose. The stream begins with byte 1.
 */
function bytesOf(one) {
  if (MT.segmentFrames.SEGMENTS.includes(one.name) || isFate(one)) return one.total;
  if (one.name !== "acks") return null;
  return one.last === null ? 0 : one.last - (one.before === null ? 1 : one.before);
}

function isFate({ name }) {
  return name.startsWith("fate_");
}

/**
 * Totals with a row for each fate in front: also of those that no segment had, with 0, or with null where `areKnown`
 * does not hold.
 */
function fatesFirst(totals, areKnown) {
  const none = areKnown ? 0 : null;
  const fates = MT.fates.MARKED.map((fate) => `fate_${fate}`).map(
    (name) => totals.find((one) => one.name === name) || { name, step: 1, records: none, total: none },
  );
  return [...fates, ...totals.filter((one) => !isFate(one))];
}

/** Whether the page tells what became of the segments that are shown. */
function areFatesKnown({ series }) {
  return MT.segmentFrames.SEGMENTS.some((name) => series.get(name)?.columns.fate);
}

class Selection {
  constructor(page) {
    this.page = page;
    this.boxes = page.engine.figures.map((_, i) => page.doc.get_model_by_name("box " + i)).filter(Boolean);
    this.element = document.getElementById("mt-selection");
    const zoom = document.getElementById("mt-selection-zoom");
    zoom.addEventListener("click", () => page.views.show(this.boxes[0].left, this.boxes[0].right));
  }

  select(start, end) {
    const span = end - start;
    this.boxes.forEach((box) => box.setv({ left: start, right: end, visible: true }));
    document.getElementById("mt-selection-time").textContent =
      `${start.toFixed(9)} s to ${end.toFixed(9)} s (${span.toPrecision(6)} s)`;
    this.countSoon(start, end);
    this.element.hidden = false;
    MT.pane.tell();
    MT.pane.bring(this.element);
  }

  /** Counts at once what is counted without delay; else when the box has stayed as it is for a moment. */
  countSoon(start, end) {
    clearTimeout(this.waiting);
    const { lowerBound, upperBound } = MT.search;
    const all = Array.from(this.page.engine.series.values());
    const records = all.reduce((sum, { x }) => sum + upperBound(x, end) - lowerBound(x, start), 0);
    if (records <= AT_ONCE) {
      this.count(start, end);
      return;
    }
    this.element.querySelector("tbody").replaceChildren();
    this.waiting = setTimeout(() => this.count(start, end), REST_MS);
  }

  /** Counts again, of series that have changed. */
  recount() {
    if (this.isShown) this.countSoon(this.boxes[0].left, this.boxes[0].right);
  }

  get isShown() {
    return !this.element.hidden;
  }

  count(start, end) {
    const { engine } = this.page;
    const rows = fatesFirst(MT.totals.totals(engine, start, end), areFatesKnown(engine)).map((one) => {
      const series = engine.series.get(one.name);
      const spread = one.step > 1 ? null : series ? MT.spread.spreadOf(series, start, end) : MT.spread.NOTHING;
      return this.row(one, spread, end - start);
    });
    this.element.querySelector("tbody").replaceChildren(...rows);
  }

  row(one, spread, span) {
    const { format, tableRow } = MT.numbers;
    const label = this.page.label(one.name);
    if (!spread) return tableRow([label, "not counted: thinned", "", "", "", "", "", "", ""]);
    if (one.records === null) return tableRow([label, "-", "-", "-", "-", "", "", "", ""]);
    const { sum, least, median, most } = spread;
    const told = [sum, least, median, most].map((value) =>
      value === undefined ? "left out: too many" : format(value),
    );
    const bytes = bytesOf(one);
    const rate = bytes === null ? "" : format((bytes * 8e-3) / span);
    return tableRow([label, format(one.records), format(bytes), format(one.records / span), rate, ...told]);
  }

  clear() {
    clearTimeout(this.waiting);
    this.boxes.forEach((box) => box.setv({ visible: false }));
    this.element.hidden = true;
    MT.pane.tell();
  }
}

MT.Selection = Selection;
