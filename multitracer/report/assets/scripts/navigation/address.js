// The part of the page's address after #: which part of the time is in view, the theme, the hidden series, and the
// order and heights of the panels.

/** What an address asks for; `view` and `theme` are null where it asks for none or for nonsense. */
function parse(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const view = (asked.get("t") || "").split(",").map(Number);
  const theme = asked.get("theme");
  return {
    view: view.length === 2 && view.every(Number.isFinite) ? view : null,
    theme: ["light", "dark"].includes(theme) ? theme : null,
    hidden: asked.getAll("hide"),
    panels: asked.get("panels") || "",
  };
}

function format(start, end, theme, hidden, panels) {
  const hide = hidden.map((name) => `&hide=${name}`).join("");
  const stack = panels ? `&panels=${encodeURIComponent(panels)}` : "";
  return `#t=${start.toFixed(9)},${end.toFixed(9)}&theme=${theme}${hide}${stack}`;
}

MT.address = { parse, format };
