// The panels of the page: Bokeh's figures on the time axis, and the series that each of them draws.

const HEX_COLOUR = /^#[0-9a-f]{6}$/i;
const GREY = [127, 127, 127];

function numberOf(figure) {
  return Number(String(figure.name).split(" ")[1]);
}

/** A figure with its picture's renderer, and its parts: one for each series, with all renderers that draw it. */
function panelOf(figure) {
  const panel = { figure, image: null, parts: [] };
  const byName = new Map();
  for (const renderer of figure.renderers) {
    const source = renderer.data_source;
    if (!source || !source.name) continue;
    if (source.name.startsWith("image ")) panel.image = renderer;
    else if (source.tags.includes("series")) {
      const isFitted = renderer.name !== "not fitted";
      if (!byName.has(source.name)) byName.set(source.name, { name: source.name, source, renderers: [], isFitted });
      byName.get(source.name).renderers.push(renderer);
    }
  }
  panel.parts = Array.from(byName.values());
  return panel;
}

/** All panels, from top to bottom. */
function collect(models) {
  const figures = models.filter((model) => model.type === "Figure" && String(model.name).startsWith("panel "));
  return figures.sort((a, b) => numberOf(a) - numberOf(b)).map(panelOf);
}

function isVisible(part) {
  return part.renderers.some((renderer) => renderer.visible);
}

/** The colour in which a part's marks are drawn, for the picture. */
function colourOf(part) {
  for (const renderer of part.renderers) {
    for (const key of ["line_color", "fill_color"]) {
      const value = renderer.glyph[key] && renderer.glyph[key].value;
      if (typeof value === "string" && HEX_COLOUR.test(value)) return MT.colours.rgbOf(value);
    }
  }
  return GREY;
}

MT.panels = { collect, isVisible, colourOf };
