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
  constructor(page, { findings, segmentFrames, connections, selection }) {
    Object.assign(this, { page, findings, segmentFrames, connections, selection });
    this.texts = null; // of all findings: read when first searched
  }

  /**
   * The sorts in which something is found: `name`, `count`, and the `hits` with `text` and `choose()`. Where nothing is
   * asked for yet, the kinds of findings.
   */
  of(text) {
    const asked = MT.lookup.parse(text);
    const sorts = [
      ...this.numbered(asked),
      ...this.timed(asked),
      ...this.within(asked),
      this.kinds(asked),
      ...this.named(asked),
    ];
    return sorts.filter((sort) => sort.count);
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

  /** The part of the time between two seconds. */
  within({ interval }) {
    const [first, last] = this.page.whole;
    const [start, end] = interval ? [Math.max(first, interval[0]), Math.min(last, interval[1])] : [0, 0];
    if (!(end > start)) return [];
    const choose = () => this.showPart(start, end);
    const text = `select ${MT.pinTexts.timeText(start)} s to ${MT.pinTexts.timeText(end)} s`;
    return [{ name: "Part of the time", count: 1, hits: [{ text, choose }] }];
  }

  /** The kinds of findings: one of exactly this name first. */
  kinds({ words }) {
    const found = this.findings.kinds().filter(({ kind }) => MT.lookup.hasAll(kind, words));
    const isNamed = ({ kind }) => Number(kind === words.join("-"));
    const hits = found
      .sort((a, b) => isNamed(b) - isNamed(a))
      .map(({ kind, count }) => ({ text: `${kind}: ${count}`, choose: () => this.findings.showKind(kind) }));
    return { name: "Kinds of findings", count: hits.length, hits };
  }

  /** What is to be said of a text besides its hits. */
  note(text) {
    const asked = MT.lookup.parse(text);
    const isName = asked.words.length && asked.words.every((word) => /^[a-z-]+$/.test(word));
    const unnamed = isName && !this.kinds(asked).count ? " No kind of finding is named so." : "";
    return unnamed + (this.isThinned ? " Not all records are in this page, nor found." : "");
  }

  named({ words, number, only }) {
    if (!words.length || (only && only !== "port")) return [];
    const sought = only ? [String(number)] : words;
    const findings = only ? [] : this.findingTexts().filter(({ told }) => MT.lookup.hasAll(told, sought));
    const connections = this.connections.all.filter(({ text }) => MT.lookup.hasAll(text, sought));
    return [
      {
        name: "Findings that name or mention it",
        count: findings.length,
        hits: findings.map(({ index, text }) => ({ text, choose: () => this.findings.show(index) })),
      },
      {
        name: "Connections",
        count: connections.length,
        hits: connections.map(({ text, number: one }) => ({ text, choose: () => this.connections.choose(one) })),
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
    MT.pane.tell();
  }

  showTime(time) {
    const { whole, views, timeRange, cursor } = this.page;
    const half = Math.min((timeRange.end - timeRange.start) / 2, (whole[1] - whole[0]) / LEAST_ROOM);
    views.show(time - half, time + half);
    cursor.show(time);
  }

  /** Selects a part, and shows it with some room at both ends. */
  showPart(start, end) {
    const room = (end - start) / 4;
    this.page.views.show(start - room, end + room);
    this.selection.select(start, end);
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
