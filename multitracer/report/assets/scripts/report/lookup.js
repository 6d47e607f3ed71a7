// What a reader's words and numbers mean, and where in the report that is found.

const MOST = 50; // hits that are listed
const NUMBER = /^(?:(byte|frame|record|port)s?\s+)?(\d{1,15}|\d{1,3}(?:,\d{3}){1,4})$/;
const WHOLE = String.raw`-?(?:\d{1,9}|\d{1,3}(?:,\d{3}){1,2})`; // a page's times may begin below zero
const FRACTION = String.raw`\.\d{1,12}`;
const SECONDS = `(${WHOLE}(?:${FRACTION})?)`;
const INTERVAL = new RegExp(String.raw`^${SECONDS}\s*s?\s*(?:-|\u2013|\.\.|to)\s*${SECONDS}\s*s?$`);
const TIME = new RegExp(String.raw`^${SECONDS}\s*s$|^(${WHOLE}${FRACTION})$`);

/**
 * What a text asks for: a `number` (`only` one of byte, frame, record, port, or null where it may be any of them), a
 * `time` in seconds, an `interval` of two times, and `words`, all of which have to be found; null where it asks for no
 * such thing.
 */
function parse(text) {
  const asked = text.trim().toLowerCase();
  const number = NUMBER.exec(asked);
  const time = TIME.exec(asked);
  const interval = INTERVAL.exec(asked);
  return {
    number: number ? Number(number[2].replaceAll(",", "")) : null,
    only: (number && number[1]) || null,
    time: time ? secondsOf(time[1] || time[2]) : null,
    interval: interval ? [secondsOf(interval[1]), secondsOf(interval[2])].sort((a, b) => a - b) : null,
    words: asked ? asked.split(/\s+/) : [],
  };
}

function secondsOf(text) {
  return Number(text.replaceAll(",", ""));
}

/** How many records have some number, and the first MOST of them; `isHit(columns, i)` tells whether one has. */
function scan(series, isHit) {
  const places = [];
  let count = 0;
  for (let i = 0; i < series.n; i++) {
    if (!isHit(series.columns, i)) continue;
    if (count < MOST) places.push(i);
    count += 1;
  }
  return { name: series.name, places, count };
}

/** All records of several series that have some number, the earliest first. */
function scanAll(engine, names, isHit) {
  const found = names
    .map((name) => engine.series.get(name))
    .filter(Boolean)
    .map((series) => scan(series, isHit));
  const hits = found.flatMap(({ name, places }) => {
    const { columns } = engine.series.get(name);
    return places.map((i) => ({ name, i, time: columns.x[i] }));
  });
  hits.sort((a, b) => a.time - b.time);
  return { hits: hits.slice(0, MOST), count: found.reduce((sum, one) => sum + one.count, 0) };
}

/** The segments and resends whose octets hold a number of the stream. */
function segmentsWith(engine, number) {
  return scanAll(engine, MT.segmentFrames.SEGMENTS, ({ y, top }, i) => y[i] <= number && number < top[i]);
}

function framesWith(engine, number) {
  return scanAll(engine, MT.segmentFrames.FRAMES, ({ y }, i) => y[i] === number);
}

/** The records of the capture with a number, as far as a series keeps it; a segment's mark of its fate is none more. */
function recordsWith(engine, number) {
  const names = Array.from(engine.series.values(), (one) => one.name).filter((name) => !name.startsWith("fate_"));
  const kept = names.filter((name) => engine.series.get(name).columns.record);
  return scanAll(engine, kept, ({ record }, i) => record[i] === number);
}

/** Whether each word is in a text; one that begins with a digit only as a word of its own: 5 is not found in 150. */
function hasAll(text, words) {
  const lower = text.toLowerCase();
  return words.every((word) => (/^\d/.test(word) ? hasWhole(lower, word) : lower.includes(word)));
}

function hasWhole(text, word) {
  const isInside = (character) => character !== undefined && /[\w]/.test(character);
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isInside(text[at - 1]) && !isInside(text[at + word.length])) return true;
  }
  return false;
}

/** How many hits of each sort are listed, of `counts` found: those of few all, the room is shared by the rest. */
function shares(counts, most) {
  const given = counts.map(() => 0);
  let left = most;
  let wanting = counts.map((_, i) => i).filter((i) => counts[i] > 0);
  while (left > 0 && wanting.length) {
    const each = Math.max(1, Math.floor(left / wanting.length));
    for (const i of wanting) {
      const more = Math.min(each, counts[i] - given[i], left);
      given[i] += more;
      left -= more;
    }
    wanting = wanting.filter((i) => given[i] < counts[i]);
  }
  return given;
}

MT.lookup = { MOST, parse, segmentsWith, framesWith, recordsWith, hasAll, shares };
