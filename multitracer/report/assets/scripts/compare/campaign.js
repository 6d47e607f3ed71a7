// The figures of all transfers: a point is told under the pointer, and a click on it opens its transfer's report; a
// click on a name in a legend hides what it names.

const REACH = 12; // pixels from a point at which the pointer still hits it

/** The renderers of a figure whose marks are points of transfers, and are seen. */
function pointsOf(figure) {
  return figure.renderers.filter((renderer) => renderer.visible && renderer.data_source.data.told);
}

/** The point that is nearest to a place on the screen; null beyond REACH. */
function pointNear(view, x, y) {
  const { x_scale: xScale, y_scale: yScale } = view.frame;
  let best = null;
  let least = REACH * REACH;
  for (const { data } of pointsOf(view.model).map((renderer) => renderer.data_source)) {
    for (let i = 0; i < data.x.length; i++) {
      const distance = (xScale.compute(data.x[i]) - x) ** 2 + (yScale.compute(data.y[i]) - y) ** 2;
      if (distance >= least) continue;
      least = distance;
      best = { x: data.x[i], y: data.y[i], name: data.name[i], report: data.report[i], told: data.told[i] };
    }
  }
  return best;
}

/** Follows the pointer over a figure. */
function listen(figure, element, tooltip) {
  const at = (event) => {
    const view = Bokeh.index.find_one(figure);
    const origin = view.el.getBoundingClientRect();
    return pointNear(view, event.clientX - origin.left, event.clientY - origin.top);
  };
  element.addEventListener("pointermove", (event) => {
    const near = at(event);
    element.style.cursor = near && near.report ? "pointer" : "";
    tooltip.point(null, event, near ? [near.name, ...near.told.split("\n")] : null);
  });
  element.addEventListener("pointerleave", () => tooltip.hide());
  element.addEventListener("click", (event) => {
    const near = at(event);
    if (near && near.report) location.href = near.report.split("/").map(encodeURIComponent).join("/");
  });
}

/** Hides what an entry of a legend names, or shows it again. */
function toggle(figure, entry) {
  const isShown = entry.getAttribute("aria-pressed") !== "true";
  entry.setAttribute("aria-pressed", String(isShown));
  for (const renderer of figure.renderers) if (renderer.name === entry.dataset.line) renderer.visible = isShown;
}

/** The figures of all transfers by their elements. */
function figuresOf(page) {
  const elements = Array.from(document.querySelectorAll(".campaign"));
  return new Map(elements.map((element) => [element, page.doc.get_model_by_name(element.dataset.figure)]));
}

/** Has the figures and their legends react to the pointer. */
function start(page, tooltip) {
  for (const [element, figure] of figuresOf(page)) {
    if (pointsOf(figure).length) listen(figure, element, tooltip);
    const entries = element.parentElement.querySelectorAll(".entry");
    for (const entry of entries) entry.addEventListener("click", () => toggle(figure, entry));
  }
}

MT.campaign = { pointNear, figuresOf, start };
