// The part of the page's address after #: which part of the time is in view, the theme, the hidden series, the order
// and heights of the panels, the connection, the direction, what transfers are aligned at, and the pins.

const KEYS = ["t", "theme", "hide", "panels", "pins", "con", "dir", "at"];
const MOST = 2000; // characters of an address: programs that pass one on cut longer ones
const TOLD = 40; // characters of what is not understood that are repeated to the reader

const DIRECTIONS = ["0", "1"];

/** The two ends of a view; null for what are none. */
function viewOf(text) {
  const view = text.split(",").map((part) => (part.trim() ? Number(part) : NaN));
  return view.length === 2 && view.every(Number.isFinite) && view[0] < view[1] ? view : null;
}

/**
 * What an address asks for; `view` and `theme` are null where it asks for none or for nonsense, and `damaged` has what
 * it asks for that no page understands.
 */
function parse(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const view = viewOf(asked.get("t") || "");
  const theme = ["light", "dark"].includes(asked.get("theme")) ? asked.get("theme") : null;
  const direction = DIRECTIONS.indexOf(asked.get("dir") ?? "0");
  const isDamaged = { t: !view, theme: !theme, dir: direction < 0 };
  return {
    view,
    theme,
    hidden: asked.getAll("hide"),
    panels: asked.get("panels") || "",
    pins: asked.getAll("pins"),
    connection: asked.get("con") || "",
    direction: Math.max(0, direction),
    aligned: asked.get("at") || "",
    damaged: Array.from(asked)
      .filter(([key]) => !KEYS.includes(key) || isDamaged[key])
      .map(([key, value]) => `${key}=${value}`),
  };
}

/** `shown` has the connection and what transfers are aligned at, both empty for the first one, and the direction. */
function format(start, end, theme, hidden, panels, shown) {
  const hide = hidden.map((name) => `&hide=${encodeURIComponent(name)}`).join("");
  const connection = shown.connection ? `&con=${encodeURIComponent(shown.connection)}` : "";
  const turned = shown.direction ? `&dir=${shown.direction}` : "";
  const aligned = shown.aligned ? `&at=${encodeURIComponent(shown.aligned)}` : "";
  const stack = panels ? `&panels=${encodeURIComponent(panels)}` : "";
  return `#t=${start.toFixed(9)},${end.toFixed(9)}&theme=${theme}${hide}${stack}${connection}${turned}${aligned}`;
}

/** Says what of an address was not understood; nothing of an empty list. */
function complaint(damaged) {
  if (!damaged.length) return "";
  const shown = damaged.slice(0, 3).map((text) => (text.length > TOLD ? `${text.slice(0, TOLD)}...` : text));
  const more = damaged.length > 3 ? ` and ${damaged.length - 3} more` : "";
  return `Not understood in the address, and ignored: ${shown.join(" ")}${more}`;
}

MT.address = { MOST, parse, format, complaint };
