// Where the time axis lies on the screen: at the same place in every panel.

const LEFT = 84; // pixels beside a figure's frame, as Bokeh was told; used while no figure is shown
const RIGHT = 20;
const CHARACTER = 7.7; // pixels of a digit of a label, in the widest of the usual fonts
const BESIDE = 16; // pixels of a tick, and around its label

/** The view that Bokeh has of a figure, if it is on the screen. */
function viewOf(figure) {
  const view = Bokeh.index.find_one(figure);
  return view && view.el.offsetParent && view.frame.bbox.width > 0 ? view : null;
}

class Frame {
  /** `stack` is the element that holds all panels; `overview` the figure above them, where there is one. */
  constructor(engine, stack, overview) {
    Object.assign(this, { engine, stack, overview });
    this.measure();
  }

  /** Gives all figures as much room at their left side as the widest label of any of them takes. */
  makeRoom(characters) {
    const left = Math.max(LEFT, Math.ceil(characters * CHARACTER + BESIDE));
    const figures = this.overview ? [...this.engine.figures, this.overview] : this.engine.figures;
    for (const figure of figures) figure.min_border_left = left;
  }

  /** Reads the ends of the axis, in pixels from the left side of the stack; says whether they have moved. */
  measure() {
    const { left, width } = this;
    const origin = this.stack.getBoundingClientRect().left;
    const view = this.engine.figures.map(viewOf).find(Boolean);
    const beside = view ? view.el.getBoundingClientRect().left - origin : 0;
    this.left = view ? beside + view.frame.bbox.left : LEFT;
    this.width = view ? view.frame.bbox.width : this.stack.clientWidth - LEFT - RIGHT;
    return this.left !== left || this.width !== width;
  }

  /** Pixels from the left side of the stack to a time. */
  xOf(time) {
    const { start, end } = this.engine.timeRange;
    return this.left + ((time - start) / (end - start)) * this.width;
  }

  /** The time at a place of the pointer. */
  timeAt(clientX) {
    const { start, end } = this.engine.timeRange;
    const share = (clientX - this.stack.getBoundingClientRect().left - this.left) / this.width;
    return start + share * (end - start);
  }
}

/** Redraws a panel that was resized; all of them when the time axis moved on the screen. */
function redrawResized(page, frame) {
  const resized = (panels) => page.redrawSoon(frame.measure() ? page.engine.panels : panels);
  for (const panel of page.engine.panels) {
    const { inner_width: width, inner_height: height } = panel.figure.properties;
    for (const size of [width, height]) size.change.connect(() => resized([panel]));
  }
  new ResizeObserver(() => resized([])).observe(frame.stack);
}

MT.frame = { Frame, viewOf, redrawResized };
