// One line through all panels at the time of the pointer or of the arrow keys, and the values there in the legends.

class Crosshair {
  constructor(page, frame, legend) {
    this.page = page;
    this.frame = frame;
    this.legend = legend;
    this.line = document.getElementById("mt-crosshair");
    this.text = document.getElementById("mt-cursor-time");
    this.time = null;
    page.engine.otherDrawings.push(() => this.place());
  }

  show(time) {
    this.time = time;
    this.text.textContent = `${time.toFixed(9)} s`;
    this.legend.show(time);
    this.place();
  }

  /** Draws the line where its time is in view now. */
  place() {
    const { start, end } = this.page.timeRange;
    const isShown = this.time !== null && this.time >= start && this.time <= end;
    this.line.hidden = !isShown;
    if (isShown) this.line.style.transform = `translateX(${this.frame.xOf(this.time)}px)`;
    return true;
  }

  /** Shows the values again, of series that have changed. */
  refresh() {
    this.legend.reserve();
    if (this.time !== null) this.show(this.time);
  }

  /** Moves the line by a share of the view; one that is out of view starts from its middle. */
  move(share) {
    const { start, end } = this.page.timeRange;
    const isInView = this.time !== null && this.time >= start && this.time <= end;
    const from = isInView ? this.time : (start + end) / 2;
    this.show(Math.min(end, Math.max(start, from + share * (end - start))));
  }
}

MT.crosshair = { Crosshair };
