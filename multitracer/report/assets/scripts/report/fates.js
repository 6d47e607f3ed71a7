// What became of the segments: a mark in the middle of each that was not simply delivered, and a bar where it arrived.

const FATES = ["delivered", "dropped", "flushed", "repeated", "lost", "needless", "unknown"]; // in the tables' order
const MARKED = ["dropped", "flushed", "lost", "repeated", "unknown"];
const KINDS = { repeated: "cloud", unknown: "cloud" }; // the others are rare, and painted larger
const TOLD = {
  delivered: "It was delivered",
  dropped: "It was dropped in the host: the link never carried it",
  flushed: "The link flushed it",
  repeated: "It was delivered after the link had repeated frames of it",
  lost: "It was lost",
  needless: "It was not needed: its octets arrived by an earlier copy",
  unknown: "What became of it is not known",
};
const SECONDS = 1e9;

/** Records column by column: an object for each of millions of records would take longer than all else. */
class Records {
  constructor(names) {
    this.columns = Object.fromEntries(names.map((name) => [name, []]));
  }

  get length() {
    return this.columns.x.length;
  }

  /** The columns, sorted by x. */
  sorted() {
    const { x } = this.columns;
    if (x.every((time, i) => i === 0 || x[i - 1] <= time)) return this.columns;
    const order = Array.from(x, (_, i) => i).sort((a, b) => x[a] - x[b]);
    const inOrder = ([name, values]) => [name, order.map((i) => values[i])];
    return Object.fromEntries(Object.entries(this.columns).map(inOrder));
  }
}

/**
 * The marks of every fate, which stand in the middle of their segments and count their bytes, and the arrivals, out of
 * series with the columns fate and arrived.
 */
function collect(allSeries) {
  const marks = new Map(MARKED.map((fate) => [fate, new Records(["x", "y", "bytes", "record"])]));
  const marksOf = FATES.map((fate) => marks.get(fate)?.columns);
  const arrived = new Records(["x", "y", "top"]);
  for (const { columns } of allSeries) {
    const { x, y, top, record, fate, arrived: times } = columns;
    for (let i = 0; i < x.length; i++) {
      const marked = marksOf[fate[i]];
      if (marked) {
        marked.x.push(x[i]);
        marked.y.push((y[i] + top[i]) / 2);
        marked.bytes.push(top[i] - y[i]);
        marked.record.push(record[i]);
      }
      if (times[i] < 0) continue;
      arrived.columns.x.push(times[i] / SECONDS);
      arrived.columns.y.push(y[i]);
      arrived.columns.top.push(top[i]);
    }
  }
  return { marks, arrived };
}

/** Adds the fates of a connection to its series, and the series of marks and arrivals; returns the new ones' names. */
function put(engine, loaded) {
  const known = [];
  for (const [name, { columns }] of loaded) {
    const series = engine.series.get(name);
    if (!series) continue;
    Object.assign(series.columns, { fate: columns.fate, arrived: columns.arrived });
    known.push(series);
  }
  const { marks, arrived } = collect(known);
  const names = [];
  const add = (name, kind, records) => {
    if (!records.length || !engine.parts.some((part) => part.name === name)) return;
    engine.put(name, kind, records.sorted());
    names.push(name);
  };
  for (const fate of MARKED) add(`fate_${fate}`, KINDS[fate] || "event", marks.get(fate));
  add("arrived", "beam", arrived);
  return names;
}

/** A segment's fate in words, of a series that has fates; else nothing. */
function describe(columns, i) {
  if (!columns.fate) return "";
  const when = columns.arrived[i] >= 0 ? `, at ${(columns.arrived[i] / SECONDS).toFixed(6)} s` : "";
  return ` ${TOLD[FATES[columns.fate[i]]]}${when}.`;
}

MT.fates = { FATES, MARKED, collect, put, describe };
