// The points of how well each transfer used its link: one is told under the pointer, and a click opens its report.

const REACH = 12; // pixels from a point at which the pointer still hits it

/** The point that is nearest to a place on the screen; null beyond REACH. */
function pointNear(view, x, y) {
  const { x_scale: xScale, y_scale: yScale } = view.frame;
  let best = null;
  let least = REACH * REACH;
  for (const { data } of view.model.renderers.map((renderer) => renderer.data_source)) {
    for (let i = 0; i < data.x.length; i++) {
      const distance = (xScale.compute(data.x[i]) - x) ** 2 + (yScale.compute(data.y[i]) - y) ** 2;
      if (distance >= least) continue;
      least = distance;
      best = { x: data.x[i], y: data.y[i], name: data.name[i], report: data.report[i], causes: data.causes[i] };
    }
  }
  return best;
}

function describe({ x, y, name, causes }) {
  return [name, `${x.toFixed(1)} kbit/s, ${y.toFixed(1)} %`, ...(causes ? [`besides new data: ${causes}`] : [])];
}

/** Follows the pointer over the figure, if there is one. */
function listen(page, tooltip) {
  const figure = page.doc.get_model_by_name("campaign");
  if (!figure) return;
  const element = document.querySelector('[data-mt-part="campaign"] .campaign');
  const at = (event) => {
    const view = Bokeh.index.find_one(figure);
    const origin = view.el.getBoundingClientRect();
    return pointNear(view, event.clientX - origin.left, event.clientY - origin.top);
  };
  element.addEventListener("pointermove", (event) => {
    const near = at(event);
    element.style.cursor = near && near.report ? "pointer" : "";
    tooltip.point(null, event, near ? describe(near) : null);
  });
  element.addEventListener("pointerleave", () => tooltip.hide());
  element.addEventListener("click", (event) => {
    const near = at(event);
    if (near && near.report) location.href = near.report.split("/").map(encodeURIComponent).join("/");
  });
}

MT.campaign = { pointNear, listen };
