// Which panels are unfolded, and how high each is, in the room that there is.

const LEAST = 96; // pixels: no panel is lower
const LANE = 26; // pixels of a lane of findings
const TIGHT_LANE = 16; // of one where room is short: its text still fits
const AT_ONCE = 3; // panels that are unfolded at once, as far as lower lanes make room for them
// All panels; where room is short, those that come first stay unfolded.
const NAMES = ["time", "sequence", "frames", "windows", "delays", "goodput", "resends"];
const WEIGHTS = { time: 0, sequence: 2.5, frames: 1.4 };

/** How much of the room a panel gets beside the others; the one with the findings just what its lanes need. */
function usualWeight(name) {
  return WEIGHTS[name] ?? 1;
}

/**
 * The names of the unfolded panels. `panels` have a name, the `least` height that they need, and `isFolded`: as the
 * reader said, or null. What the reader did not say is unfolded as long as there is room.
 */
function unfolded(panels, room) {
  const open = new Set();
  let left = room;
  for (const panel of panels) {
    if (panel.isFolded !== false) continue;
    open.add(panel.name);
    left -= panel.least;
  }
  const undecided = panels.filter((panel) => panel.isFolded === null);
  undecided.sort((a, b) => rank(a.name) - rank(b.name));
  for (const panel of undecided) {
    if (left < panel.least && open.size) break;
    open.add(panel.name);
    left -= panel.least;
  }
  return open;
}

function rank(name) {
  const place = NAMES.indexOf(name);
  return place < 0 ? NAMES.length : place;
}

/** The panels as they are to be fitted: each needs no more than `tight` where else too few would be unfolded. */
function fitted(panels, room) {
  const wanted = panels.filter((panel) => !panel.isFolded).length;
  if (unfolded(panels, room).size >= Math.min(AT_ONCE, wanted)) return panels;
  return panels.map((panel) => ({ ...panel, least: panel.tight }));
}

/** The height of each unfolded panel by its name: what it needs, and of the room that is left a share by its weight. */
function heights(all, room) {
  const panels = fitted(all, room);
  const open = unfolded(panels, room);
  const shown = panels.filter((panel) => open.has(panel.name));
  const spare = Math.max(0, room - shown.reduce((sum, panel) => sum + panel.least, 0));
  const weights = shown.reduce((sum, panel) => sum + panel.weight, 0) || 1;
  return Object.fromEntries(
    shown.map((panel) => [panel.name, Math.floor(panel.least + (spare * panel.weight) / weights)]),
  );
}

MT.fitting = { LEAST, LANE, TIGHT_LANE, NAMES, usualWeight, unfolded, heights };
