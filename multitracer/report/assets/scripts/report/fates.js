// What became of the segments: a mark in the middle of each that was not simply delivered, and a bar where it arrived.

const FATES = ["delivered", "dropped", "flushed", "repeated", "lost", "needless", "unknown"]; // in the tables' order
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

/** Sorts records by x and turns them into columns. */
function columnsOf(records, names) {
  records.sort((a, b) => a.x - b.x);
  return Object.fromEntries(names.map((name) => [name, records.map((one) => one[name])]));
}

/** The records of every fate that is marked, and the arrivals, out of series with the columns fate and arrived. */
function collect(allSeries) {
  const marks = new Map(FATES.map((fate) => [fate, []]));
  const arrived = [];
  for (const { columns } of allSeries) {
    const { x, y, top, fate, arrived: times } = columns;
    for (let i = 0; i < x.length; i++) {
      const name = FATES[fate[i]];
      if (MARKED.includes(name)) marks.get(name).push(markOf(columns, i));
      if (times[i] >= 0) arrived.push({ x: times[i] / SECONDS, y: y[i], top: top[i] });
    }
  }
  return { marks, arrived };
}

/** The mark of a segment stands in its middle, and counts its bytes. */
function markOf({ x, y, top, record }, i) {
  return { x: x[i], y: (y[i] + top[i]) / 2, bytes: top[i] - y[i], record: record[i] };
}

const MARKED = ["dropped", "flushed", "lost", "repeated", "unknown"];

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
  const add = (name, kind, records, columns) => {
    if (!records.length || !engine.parts.some((part) => part.name === name)) return;
    engine.put(name, kind, columnsOf(records, columns));
    names.push(name);
  };
  for (const fate of MARKED)
    add(`fate_${fate}`, KINDS[fate] || "event", marks.get(fate), ["x", "y", "bytes", "record"]);
  add("arrived", "beam", arrived, ["x", "y", "top"]);
  return names;
}

/** A segment's fate in words, of a series that has fates; else nothing. */
function describe(columns, i) {
  if (!columns.fate) return "";
  const when = columns.arrived[i] >= 0 ? `, at ${(columns.arrived[i] / SECONDS).toFixed(6)} s` : "";
  return ` ${TOLD[FATES[columns.fate[i]]]}${when}.`;
}

MT.fates = { FATES, MARKED, collect, put, describe };
