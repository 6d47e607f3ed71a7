// What a search finds, sort by sort, each hit with what it says and what choosing it does.

const LEAST_ROOM = 40; // of the whole time: a hit's surroundings are shown no wider

function segmentText({ time, i }, { y, top }, label) {
  const { format } = MT.numbers;
  return `${label} at ${time.toFixed(6)} s, bytes ${format(y[i])} to ${format(top[i])}`;
}

function frameText({ time }, _, label) {
  return `${label} at ${time.toFixed(6)} s`;
}

function recordText(one, columns, label) {
  if (columns.top) return segmentText(one, columns, label);
  return `${label} ${MT.numbers.format(columns.y[one.i])} at ${one.time.toFixed(6)} s`;
}

const SORTS = [
  ["byte", "Segments that hold this byte", "segmentsWith", segmentText],
  ["frame", "Frames with this number", "framesWith", frameText],
  ["record", "Records of the capture", "recordsWith", recordText],
];

class Hits {
  constructor(page, findings, segmentFrames, connections) {
    Object.assign(this, { page, findings, segmentFrames, connections });
    this.texts = null; // of all findings: read when first searched
  }

  /** The sorts in which something is found: `name`, `count`, and the `hits` with `text` and `choose()`. */
  of(text) {
    const asked = MT.lookup.parse(text);
    if (!asked.words.length) return [];
    return [...this.numbered(asked), ...this.timed(asked), ...this.named(asked)].filter((sort) => sort.count);
  }

  numbered({ number, only }) {
    if (number === null) return [];
    const shown = { series: this.page.engine.series, title: "", show: (one) => this.showRecord(one) };
    const hidden = this.connections.hidden;
    const other = hidden && { ...hidden, title: ", the other direction", show: (one) => this.turnTo(one) };
    return SORTS.filter(([key]) => !only || only === key).flatMap(([, name, find, textOf]) =>
      [shown, other].filter(Boolean).map(({ series, title, show }) => {
        const { hits, count } = MT.lookup[find]({ series }, number);
        const hitOf = (one) => ({
          text: textOf(one, series.get(one.name).columns, this.page.label(one.name)),
          choose: () => show(one),
        });
        return { name: name + title, count, hits: hits.map(hitOf) };
      }),
    );
  }

  /** Has what is not shown decoded, so that it is searched too; returns whether it was not. */
  async prepare() {
    return this.connections.decodeHidden();
  }

  async turnTo(one) {
    await this.connections.turn();
    this.showRecord(one);
  }

  timed({ time }) {
    const [start, end] = this.page.whole;
    if (time === null || time < start || time > end) return [];
    const choose = () => this.showTime(time);
    return [{ name: "Time", count: 1, hits: [{ text: `${time} s since the start of the trace`, choose }] }];
  }

  named({ words, number, only }) {
    if (only && only !== "port") return [];
    const sought = only ? [String(number)] : words;
    const findings = only ? [] : this.findingTexts().filter(({ told }) => MT.lookup.hasAll(told, sought));
    const { select } = this.connections;
    const connections = (select ? Array.from(select.options) : []).filter(({ text }) => MT.lookup.hasAll(text, sought));
    return [
      {
        name: "Findings",
        count: findings.length,
        hits: findings.map(({ index, text }) => ({ text, choose: () => this.findings.show(index) })),
      },
      {
        name: "Connections",
        count: connections.length,
        hits: connections.map(({ text, value }) => ({ text, choose: () => this.showConnection(value) })),
      },
    ];
  }

  findingTexts() {
    this.texts ??= Array.from(this.findings.items, ([index, { dataset }]) => {
      const { kind, layer, verdict, start } = dataset;
      const because = document.querySelector(`[data-detail="${index}"] > p`);
      const text = `${kind} at ${Number(start).toFixed(1)} s: ${because ? because.textContent : ""}`;
      return { index, text, told: `${text} ${layer} ${verdict}` };
    });
    return this.texts;
  }

  showRecord(one) {
    this.unfold(one.name);
    this.showTime(one.time);
    this.segmentFrames.chooseRecord(one);
    document.getElementById("mt-nothing").hidden = true;
  }

  showTime(time) {
    const { whole, views, timeRange, cursor } = this.page;
    const half = Math.min((timeRange.end - timeRange.start) / 2, (whole[1] - whole[0]) / LEAST_ROOM);
    views.show(time - half, time + half);
    cursor.show(time);
  }

  showConnection(value) {
    const { select } = this.connections;
    select.value = value;
    select.dispatchEvent(new Event("change"));
  }

  /** Unfolds the panel that draws a series. */
  unfold(name) {
    const { engine, stack } = this.page;
    const drawing = engine.panels.find(({ parts }) => parts.some((part) => part.name === name));
    const panel = drawing && stack.panels.find((one) => one.name === drawing.figure.tags[0]);
    if (panel && !stack.isOpen(panel)) stack.toggle(panel);
  }

  /** Whether records are missing from what is searched. */
  get isThinned() {
    return Array.from(this.page.engine.series.values()).some((series) => series.step > 1);
  }
}

MT.hits = { Hits };
