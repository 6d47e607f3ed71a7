// Panels as pictures: SVG and PNG by the buttons in their heads, and for print. Always light, on white, each with its
// title, its legend and its time axis.

const EDGE = 6; // pixels
const HEAD = 20; // pixels of a line of title or legend
const AXIS = 24; // pixels of a time axis that a panel does not have on the screen
const FOOT = 16; // pixels of what the time axis is called
const SWATCH = 24; // pixels of a legend's mark with the room beside it
const USUAL = 180; // pixels: a panel that is folded is drawn so high

/** What a legend's entry says, without the value at the cursor. */
function labelOf(entry) {
  const texts = Array.from(entry.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE);
  return texts
    .map((node) => node.textContent)
    .join("")
    .trim();
}

/** The mark of an entry at a place. */
function markOf(entry, x, y) {
  const swatch = entry.querySelector("svg");
  const { color, background } = (swatch || entry.querySelector(".mark")).style;
  if (!swatch) return MT.svg.element("rect", { x: x + 4, y, width: 12, height: 12, fill: background });
  const size = { x, y, width: 20, height: 12, viewBox: "0 0 20 12", color };
  return MT.svg.element("svg", size, ...Array.from(swatch.children, (child) => child.cloneNode(true)));
}

/** Title, unit and the legend of what is shown, in lines of a width; returns them and their height. */
function head(section, width) {
  const title = section.querySelector(".fold").textContent.trim();
  const unit = section.querySelector(".unit");
  const parts = [MT.svg.text(EDGE, 15, title, { "font-weight": 600, "font-size": 13 })];
  let x = EDGE + MT.svg.widthOf(title, 13, 600) + 10;
  let y = 0;
  if (unit && unit.textContent) {
    parts.push(MT.svg.text(x, 15, unit.textContent, { fill: "#57606a" }));
    x += MT.svg.widthOf(unit.textContent) + 14;
  }
  for (const entry of section.querySelectorAll('.entry:not([aria-pressed="false"], [hidden])')) {
    const label = labelOf(entry);
    const needed = SWATCH + MT.svg.widthOf(label) + 14;
    if (x + needed > width && x > EDGE) [x, y] = [EDGE, y + HEAD];
    parts.push(markOf(entry, x, y + 5), MT.svg.text(x + SWATCH, y + 15, label));
    x += needed;
  }
  return { drawn: MT.svg.element("g", { fill: "#1b1f24" }, ...parts), height: y + HEAD + 2 };
}

/** Has a figure's marks take their colours at once: by itself Bokeh does so in a later task. */
function recolour(view) {
  for (const renderer of view.model.renderers) {
    const { glyph, all_indices: indices } = view.views.get_one(renderer);
    glyph.set_visuals(renderer.data_source, indices);
    glyph.after_visuals();
  }
}

/** Draws an element's figure in light colours at a size, calls `take` with its view, and leaves it as it was. */
function atSize(page, canvas, figure, width, height, take) {
  const panel = page.engine.panels.find((one) => one.figure === figure);
  const models = Array.from(figure.references());
  const view = Bokeh.index.find_one(figure);
  const before = { hidden: canvas.hidden, style: canvas.style.cssText, theme: MT.theme.current() };
  const axes = figure.below.map((axis) => [axis, axis.visible]);
  const show = (hidden, style, theme) => {
    canvas.hidden = hidden;
    canvas.style.cssText = style;
    MT.theme.apply(theme, models);
    view.invalidate_layout();
    if (panel && !hidden) page.engine.drawOne(panel);
    recolour(view);
  };
  try {
    for (const [axis] of axes) axis.visible = true;
    show(false, `width: ${width}px; height: ${height}px`, "light");
    return take(view);
  } finally {
    for (const [axis, isVisible] of axes) axis.visible = isVisible;
    show(before.hidden, before.style, before.theme);
  }
}

/** A figure's view as SVG. Bokeh writes each text twice, filled and as an edge: one that is not seen is left out. */
function vector(view) {
  const made = view.export("svg", false).ctx.get_svg();
  for (const text of made.querySelectorAll('text[fill="none"][stroke-opacity="0"]')) text.remove();
  return made;
}

class Pictures {
  /** `shown` has what draws the panel of findings: `lanes` and `stretches`. */
  constructor(page, frame, shown) {
    Object.assign(this, { page, frame, shown });
    this.sections = () => document.querySelectorAll("#mt-stack > [data-mt-panel]");
    for (const section of this.sections()) this.addButtons(section);
  }

  addButtons(section) {
    const title = section.querySelector(".fold").textContent.trim();
    const buttons = ["svg", "png"].map((format) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "picture", textContent: format.toUpperCase() });
      button.dataset.format = format;
      button.setAttribute("aria-label", `save ${title} as ${format.toUpperCase()}`);
      button.title = `save as ${format.toUpperCase()}`;
      button.addEventListener("click", () => this.save(section, format));
      return button;
    });
    section.querySelector(".order").prepend(...buttons);
  }

  async save(section, format) {
    const made = this.ofScreen(section);
    const blob = format === "png" ? await MT.svg.toPng(made) : MT.svg.toSvg(made);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${fileName(section.dataset.mtPanel)}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  /** A panel as large as it is on the screen; one without its time axis is as much higher. */
  ofScreen(section) {
    const canvas = section.querySelector(".canvas");
    const figure = this.figureOf(section);
    const isNumbered = figure && !canvas.hidden && figure.below.some((axis) => axis.visible);
    const height = (canvas.hidden ? USUAL : canvas.clientHeight) + (isNumbered ? 0 : AXIS);
    return this.of(section, Math.round(section.clientWidth), Math.round(height), this.frame);
  }

  /** What the time axis is called. */
  get axisName() {
    return document.getElementById("mt-stack").dataset.axis;
  }

  figureOf(section) {
    return this.page.engine.figures.find((one) => one.tags[0] === section.dataset.mtPanel);
  }

  /** A panel as SVG: so wide, and what is drawn so high; `axis` has left and width of the panel of findings. */
  of(section, width, height, axis) {
    const above = head(section, width);
    const body = this.body(section, width, height, axis);
    const place = MT.svg.element("g", { transform: `translate(0 ${above.height})` }, body.drawn);
    const whole = above.height + body.height + FOOT;
    const foot = MT.svg.text(axis.left + axis.width / 2, whole - 5, this.axisName, {
      "text-anchor": "middle",
      fill: "#57606a",
    });
    return MT.svg.picture(width, whole, above.drawn, place, foot);
  }

  body(section, width, height, axis) {
    const figure = this.figureOf(section);
    if (!figure) return MT.lanesPicture.draw(section, this.shown, axis, this.page.timeRange);
    const drawn = this.drawn(section.querySelector(".canvas"), figure, width, height);
    this.frame.measure();
    return { drawn, height };
  }

  drawn(element, figure, width, height) {
    return atSize(this.page, element, figure, width, height, vector);
  }

  /** A figure that is no panel as SVG. */
  ofFigure(element, figure, width, height) {
    return MT.svg.picture(width, height, this.drawn(element, figure, width, height));
  }
}

/** A text as the name of a file. */
function nameOf(capture) {
  return (capture || "").replace(/[^\p{L}\p{N}._-]+/gu, "_") || "report";
}

/** What a saved panel is called: its capture, its connection where there are several, and its direction. */
function fileName(panel) {
  const { mtConnection, mtWay } = document.documentElement.dataset;
  const parts = [nameOf(document.getElementById("mt-stack").dataset.capture)];
  if (document.getElementById("mt-connection")) parts.push(`connection${mtConnection}`);
  parts.push(panel);
  if (mtWay === "1" && panel !== "time") parts.push("other_direction");
  return parts.join("-");
}

MT.pictures = { Pictures, nameOf };
