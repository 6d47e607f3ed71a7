// All transfers on one axis, on which each has 0 at its own start, or at another event that it has.

const MARGIN = 0.02; // of all of the time, at both its sides

class Alignment {
  /** `transfers` have align_s, the seconds of each event in their own trace; `lines` are their series by name. */
  constructor(page, transfers, lines, findings) {
    Object.assign(this, { page, transfers, lines, findings });
  }

  /** Puts an event at 0; a transfer without it is left out. `name` is what the event is called. */
  at(event, name) {
    const zeros = this.transfers.map((one) => one.align_s[event]);
    for (const [name, line] of this.lines) this.putShifted(name, line, zeros[Number(name.split(" ")[1])]);
    for (const item of this.findings.items.values()) this.shift(item, zeros[Number(item.dataset.in)]);
    this.fitWhole();
    this.page.engine.blankDropped();
    document.getElementById("mt-stack").dataset.axis = `seconds since ${name}`;
    document.documentElement.dataset.mtAligned = event;
  }

  putShifted(name, { kind, columns }, zero) {
    this.page.engine.drop(name);
    if (zero === undefined) return;
    this.page.engine.put(name, kind, { x: columns.x.map((time) => time - zero), y: columns.y });
  }

  shift(item, zero) {
    item.hidden = zero === undefined;
    if (item.hidden) return;
    item.dataset.start = item.dataset.begin - zero;
    item.dataset.end = item.dataset.finish - zero;
  }

  /** Makes all of the time what lines and findings take, with some room. */
  fitWhole() {
    const series = Array.from(this.page.engine.series.values()).filter((one) => one.n);
    const items = Array.from(this.findings.items.values()).filter((item) => !item.hidden);
    const firsts = [...series.map((one) => one.x[0]), ...items.map((item) => Number(item.dataset.start))];
    const lasts = [...series.map((one) => one.x[one.n - 1]), ...items.map((item) => Number(item.dataset.end))];
    if (!firsts.length) return;
    const [first, last] = [Math.min(...firsts), Math.max(...lasts)];
    const margin = MARGIN * (last - first);
    this.page.whole[0] = first - margin;
    this.page.whole[1] = last + margin;
  }
}

MT.alignment = { Alignment };
