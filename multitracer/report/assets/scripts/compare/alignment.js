// All transfers on one axis, on which each has 0 at its own start, or at another event that it has.

const MARGIN = 0.02; // of all of the time, at both its sides

class Alignment {
  /**
   * `transfers` have align_s, the seconds of each event in their own trace; `lines` are their series by name. `select`
   * has the events to choose from; null where there are none.
   */
  constructor(page, transfers, lines, findings, select) {
    Object.assign(this, { page, transfers, lines, findings, select });
    if (select) this.atChosen();
  }

  /** Puts the event at 0 that the reader has chosen. */
  atChosen() {
    this.at(this.select.value, this.select.selectedOptions[0].text);
  }

  /** What an address has to tell: nothing of the first event. */
  get toAddress() {
    return { aligned: this.select && this.select.selectedIndex > 0 ? this.select.value : "" };
  }

  /** Aligns at the event that an address asks for, an empty text for the first one; returns what of it there is not. */
  take(event) {
    const options = Array.from(this.select?.options ?? [], (option) => option.value);
    const place = event ? options.indexOf(event) : 0;
    if (options.length && place >= 0 && place !== this.select.selectedIndex) {
      this.select.selectedIndex = place;
      this.select.dispatchEvent(new Event("change"));
    }
    return place < 0 ? [`at=${event}`] : [];
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
