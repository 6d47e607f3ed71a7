// The table below the panels: the value of every series at the time of the pointer or of the arrow keys' cursor.

class Cursor {
  /** `labels` are the texts for names of series; a series without one is shown by its name. */
  constructor(engine, labels) {
    this.engine = engine;
    this.labels = labels;
    this.body = document.querySelector("#mt-readout tbody");
    this.time = null; // whose values are shown
    this.moved = null; // where the arrow keys moved the cursor
    this.pointed = null; // where the pointer is, until its values are shown
    for (const figure of engine.figures) this.follow(figure);
  }

  /** Shows the values at the pointer, at most once a frame of the screen. */
  follow(figure) {
    figure.on_event("mousemove", (event) => {
      const isFirst = this.pointed === null;
      this.pointed = event.x;
      if (!isFirst) return;
      requestAnimationFrame(() => {
        const time = this.pointed;
        this.pointed = null;
        this.show(time);
      });
    });
  }

  show(time) {
    this.time = time;
    document.getElementById("mt-readout-time").textContent = time.toFixed(9) + " s";
    this.body.replaceChildren(...MT.values.valuesAt(this.engine, time).map((one) => this.row(one)));
  }

  row({ name, x, y, top, record }) {
    const { format, tableRow } = MT.numbers;
    const value = top === null ? format(y) : `${format(y)} to ${format(top)}`;
    return tableRow([this.labels[name] || name, value, x.toFixed(9), record === null ? "" : String(record)]);
  }

  /** Shows the values again, of series that have changed. */
  refresh() {
    if (this.time !== null) this.show(this.time);
  }

  /** Moves the cursor by a share of the view; one that is out of view starts from its middle. */
  move(share) {
    const { start, end } = this.engine.timeRange;
    const isInView = this.moved !== null && this.moved >= start && this.moved <= end;
    const from = isInView ? this.moved : (start + end) / 2;
    this.moved = Math.min(end, Math.max(start, from + share * (end - start)));
    this.show(this.moved);
  }
}

MT.Cursor = Cursor;
