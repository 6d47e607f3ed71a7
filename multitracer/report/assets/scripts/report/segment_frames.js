// Which frames carried which segment: a click on a segment marks its frames, a click on a frame its segments.

const SEGMENTS = ["segments", "again_no", "again_yes", "again_unknown"];
const FRAMES = ["frames_new", "frames_again"];
// What became of frames, by its code: what is said of the only one, of all of several, and of `n` among others.
const OUTCOMES = [
  { code: 1, one: "it arrived", all: "all arrived", some: (n) => `${n} arrived` },
  { code: 2, one: "it came damaged", all: "all came damaged", some: (n) => `${n} came damaged` },
  {
    code: 0,
    one: "it is not in the receiver's log",
    all: "none is in the receiver's log",
    some: (n) => `${n} ${n === 1 ? "is" : "are"} not in the receiver's log`,
  },
  {
    code: -1,
    one: "no log tells whether it arrived",
    all: "no log tells whether they arrived",
    some: (n) => `of ${n} no log tells`,
  },
];
const NOWHERE = [{ x: NaN, y: NaN, top: NaN }];

/** A segment in words. */
function describe(segment) {
  const { format } = MT.numbers;
  const bytes = `bytes ${format(segment.y)} to ${format(segment.top)}`;
  return `${bytes}, sent at ${segment.x.toFixed(6)} s (record ${segment.record})`;
}

/** The record `i` of a series of segments; `row` is the segment's row in the table. */
function segmentAt(columns, i) {
  return { x: columns.x[i], y: columns.y[i], top: columns.top[i], record: columns.record[i], row: columns.row[i] };
}

class SegmentFrames {
  /** `explain` gives the finding about a retransmission by its time and trigger, or null. */
  constructor(page, explain) {
    this.page = page;
    this.map = null; // the columns x, y, row, again and outcome of the pairs of frame and segment; null without a log
    this.explain = explain;
    this.text = document.getElementById("mt-chosen");
    this.chosen = null; // the segment, by its series' name and its index
  }

  /** Chooses the mark at a place of a figure; none clears what was chosen. */
  choose({ figure, x, y }) {
    const near = MT.nearest.nearest(this.page.engine, figure, [...SEGMENTS, ...FRAMES], x, y);
    if (near) this.chooseRecord(near);
    else this.clear();
  }

  /** Chooses a record by its series' name and its index; what is neither segment nor frame clears the choice. */
  chooseRecord(record) {
    if (SEGMENTS.includes(record.name)) this.chooseSegment(record);
    else if (FRAMES.includes(record.name)) this.chooseFrame(record);
    else this.clear();
  }

  clear() {
    this.chosen = null;
    this.mark([], []);
    this.text.textContent = "";
    MT.pane.tell();
  }

  /** Says something in the place of what was chosen before. */
  tell(...parts) {
    this.text.replaceChildren(...parts);
    MT.pane.tell();
    MT.pane.bring(this.text);
  }

  mark(segments, frames) {
    const [bars, points] = [segments, frames].map((list) => (list.length ? list : NOWHERE));
    this.fill("chosen segments", bars, ["x", "y", "top"]);
    this.fill("chosen frames", points, ["x", "y"]);
  }

  fill(name, records, columns) {
    const source = this.page.doc.get_model_by_name(name);
    if (source) source.data = Object.fromEntries(columns.map((key) => [key, records.map((one) => one[key])]));
  }

  chooseSegment({ name, i }) {
    const { columns } = this.page.engine.series.get(name);
    const segment = segmentAt(columns, i);
    const frames = this.framesOf(segment.row);
    this.mark([segment], frames);
    this.chosen = { name, i };
    this.tell(...this.textsOf(columns, i, segment, frames));
  }

  /** Says what is chosen once more, of a segment whose fate is known now. */
  tellAgain() {
    if (!this.chosen) return;
    const { columns } = this.page.engine.series.get(this.chosen.name);
    const segment = segmentAt(columns, this.chosen.i);
    this.text.replaceChildren(...this.textsOf(columns, this.chosen.i, segment, this.framesOf(segment.row)));
  }

  /** What a segment is, what became of it, and why it was sent again. */
  textsOf(columns, i, segment, frames) {
    const { trigger, because } = columns;
    return [
      `Chosen: ${describe(segment)}${this.carriedText(frames)}.${MT.fates.describe(columns, i)}`,
      ...(trigger ? this.resent(segment.x, trigger[i], because[i]) : []),
    ];
  }

  /** Why a segment was sent again: the reason, and a button that shows the finding about it. */
  resent(time, trigger, because) {
    const parts = [` Sent again, set off by ${trigger}: ${because}.`];
    const finding = this.explain(time, trigger);
    if (finding === null) return [...parts, " No finding explains it."];
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "link", textContent: `${finding.kind} (e)` });
    button.dataset.finding = finding.index;
    return [...parts, " Explained by ", button, "."];
  }

  framesOf(row) {
    const frames = [];
    if (!this.map) return frames;
    const { x, y, again, outcome } = this.map;
    for (let k = 0; k < x.length; k++) {
      if (this.map.row[k] === row) frames.push({ x: x[k], y: y[k], again: again[k], outcome: outcome[k] });
    }
    return frames;
  }

  carriedText(frames) {
    if (!this.map) return "; which frames carried it is not known: no link's log tells";
    if (!frames.length) return "; no frame that was logged carried it";
    const [first, last] = [frames[0], frames[frames.length - 1]].map((frame) => frame.x.toFixed(6));
    if (frames.length === 1) {
      const repeat = frames[0].again ? "a repeat" : "not a repeat";
      return `; carried by 1 frame, ${repeat}, at ${first} s: ${outcomesText(frames)}`;
    }
    const repeats = frames.filter((frame) => frame.again).length;
    return (
      `; carried by ${frames.length} frames, ${repeats} of them repeats, from ${first} to ${last} s: ` +
      outcomesText(frames)
    );
  }

  chooseFrame({ name, i }) {
    const { x, y } = this.page.engine.series.get(name).columns;
    const frame = { x: x[i], y: y[i] };
    const pairs = this.pairsOf(frame);
    const segments = this.segmentsIn(new Set(pairs.map((k) => this.map.row[k])));
    this.chosen = null;
    this.mark(segments, [frame]);
    const outcome = pairs.length ? `: ${outcomesText([{ outcome: this.map.outcome[pairs[0]] }])}` : "";
    const carried = segments.length
      ? `it carried ${segments.map(describe).join(" and ")}`
      : "no segment drawn here was found in it";
    this.tell(`Chosen: frame ${MT.numbers.format(frame.y)}, sent at ${frame.x.toFixed(6)} s${outcome}; ${carried}.`);
  }

  /** Places in the map of the pairs of a frame: one for each segment that it carried octets of. */
  pairsOf(frame) {
    const pairs = [];
    if (!this.map) return pairs;
    const { x, y } = this.map;
    for (let k = MT.search.lowerBound(x, frame.x); k < x.length && x[k] === frame.x; k++) {
      if (y[k] === frame.y) pairs.push(k);
    }
    return pairs;
  }

  segmentsIn(rows) {
    const segments = [];
    if (!rows.size) return segments;
    for (const series of SEGMENTS.map((name) => this.page.engine.series.get(name)).filter(Boolean)) {
      for (let i = 0; i < series.n; i++) {
        if (rows.has(series.columns.row[i])) segments.push(segmentAt(series.columns, i));
      }
    }
    return segments;
  }
}

/** How many of some frames arrived, and what became of the others. */
function outcomesText(frames) {
  if (frames.length === 1) return OUTCOMES.find(({ code }) => code === frames[0].outcome).one;
  const texts = OUTCOMES.map(({ code, all, some }) => {
    const count = frames.filter(({ outcome }) => outcome === code).length;
    return count === frames.length ? all : count && some(count);
  });
  return texts.filter(Boolean).join(", ");
}

MT.segmentFrames = { SEGMENTS, FRAMES, SegmentFrames, outcomesText };
