// Pins as texts: in the address and in a file. A pin is a time in seconds with a note, which may be empty.

const MOST = 200; // pins
const LONGEST = 500; // characters of a note
const PLACES = 9; // of a time in seconds: nanoseconds

/** A time in seconds as pins have it: in whole nanoseconds, so that it is the same once it has been a text. */
function atNanosecond(time) {
  return Number(time.toFixed(PLACES));
}

/** A pin as it is kept; null where a time is none, or not within the ends of `whole`. */
function pinOf(time, note, whole) {
  if (typeof time !== "number" || !(time >= whole[0] && time <= whole[1])) return null;
  if (typeof note !== "string") return null;
  return { time: atNanosecond(time), note: note.slice(0, LONGEST).toWellFormed().trim() };
}

/** Pins and more pins in order of time, no two of them alike; of the latter as many as there is room for. */
function joined(pins, more) {
  const seen = new Set();
  const textOf = ({ time, note }) => `${time} ${note}`;
  const all = [...pins, ...more].filter((pin) => !seen.has(textOf(pin)) && seen.add(textOf(pin)));
  return all.slice(0, MOST).sort((a, b) => a.time - b.time);
}

function timeText(time) {
  return time.toFixed(PLACES).replace(/\.?0+$/, "");
}

/** The part of an address that holds as many pins as `room` characters do, and how many it does not hold. */
function toAddress(pins, room) {
  let text = "";
  let left = 0;
  for (const { time, note } of pins) {
    const one = `&${new URLSearchParams({ pins: timeText(time) + (note && `_${note}`) })}`;
    if (text.length + one.length <= room) text += one;
    else left += 1;
  }
  return { text, left };
}

/** The pins of an address, and which of its texts are none. */
function fromAddress(texts, whole) {
  const pins = [];
  const damaged = [];
  for (const text of texts) {
    const [, time, note] = /^(-?\d{1,12}(?:\.\d{1,9})?)(?:_(.*))?$/s.exec(text) || [];
    const pin = pinOf(time === undefined ? null : Number(time), note || "", whole);
    if (pin) pins.push(pin);
    else damaged.push(text);
  }
  return { pins, damaged };
}

function toFile(pins) {
  const kept = pins.map(({ time, note }) => ({ time_s: time, note }));
  return `${JSON.stringify({ format: "multitracer pins", pins: kept }, null, 1)}\n`;
}

/** The pins of a file's text, and how many entries of it are none; null where it is no file of pins. */
function fromFile(text, whole) {
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  if (!read || read.format !== "multitracer pins" || !Array.isArray(read.pins)) return null;
  const found = read.pins.map((one) => (one ? pinOf(one.time_s, one.note ?? "", whole) : null));
  const pins = found.filter(Boolean);
  return { pins, left: found.length - pins.length };
}

/** A length of time in words, to the nanosecond. */
function distanceText(seconds) {
  if (seconds >= 1) return `${timeText(seconds)} s`;
  return `${Number((1e3 * seconds).toFixed(6))} ms`;
}

MT.pinTexts = { MOST, atNanosecond, joined, toAddress, fromAddress, toFile, fromFile, timeText, distanceText };
