// Light and dark: the page by its style sheet, Bokeh's models by the same colours.

const GLYPHS = ["Scatter", "Segment", "Line", "Step"];
const BLACK = ["#000000", "black"];
const blackGlyphs = new WeakSet(); // drawn in the colour of the text, which is black in the light theme

function isBlack(glyph) {
  return blackGlyphs.has(glyph) || BLACK.includes(glyph.line_color && glyph.line_color.value);
}

function applyTo(model, text, ground, line) {
  if (model.type === "Figure") {
    model.setv({ background_fill_color: ground, border_fill_color: ground, outline_line_color: line });
  } else if (/Axis$/.test(model.type)) {
    const lines = { axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: line };
    model.setv({ axis_label_text_color: text, major_label_text_color: text, ...lines });
  } else if (model.type === "Grid") model.setv({ grid_line_color: line, grid_line_alpha: 0.6 });
  else if (model.type === "Legend") {
    model.setv({ background_fill_color: ground, label_text_color: text, border_line_color: line });
  } else if (model.type === "Title") model.setv({ text_color: text });
  else if (GLYPHS.includes(model.type) && isBlack(model)) {
    blackGlyphs.add(model);
    model.setv({ line_color: { value: text } });
  }
}

/** Shows page and panels in a theme: light or dark. */
function apply(name, models) {
  document.documentElement.dataset.theme = name;
  const style = getComputedStyle(document.documentElement);
  const [text, ground, line] = ["--fg", "--bg", "--line"].map((key) => style.getPropertyValue(key).trim());
  for (const model of models) applyTo(model, text, ground, line);
}

function current() {
  return document.documentElement.dataset.theme;
}

/** The theme that the reader's system asks for. */
function preferred() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

MT.theme = { apply, current, preferred };
