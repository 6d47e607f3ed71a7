// A selected part of the time axis: marked in every panel, and counted in a table beside them.

/**
 * The bytes that a series carried in a part, null for a series that does not count any: of bars their heights, of
 * acknowledgements how far they rose. The stream begins with byte 1.
 */
function bytesOf(one) {
  if (MT.segmentFrames.SEGMENTS.includes(one.name)) return one.total;
  if (one.name !== "acks") return null;
  return one.last === null ? 0 : one.last - (one.before === null ? 1 : one.before);
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
    const rows = MT.totals.totals(this.page.engine, start, end).map((one) => this.row(one, span));
    this.element.querySelector("tbody").replaceChildren(...rows);
    this.element.hidden = false;
    document.getElementById("mt-nothing").hidden = true;
  }

  row(one, span) {
    const { format, tableRow } = MT.numbers;
    const label = this.page.label(one.name);
    if (one.step > 1) return tableRow([label, "not counted: thinned", "", "", ""]);
    const bytes = bytesOf(one);
    const rate = bytes === null ? "" : format((bytes * 8e-3) / span);
    return tableRow([label, format(one.records), format(one.records / span), format(bytes), rate]);
  }

  clear() {
    this.boxes.forEach((box) => box.setv({ visible: false }));
    this.element.hidden = true;
  }
}

MT.Selection = Selection;
