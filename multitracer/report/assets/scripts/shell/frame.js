// Where the time axis lies on the screen: at the same place in every panel.

const LEFT = 84; // pixels beside a figure's frame, as Bokeh was told; used while no figure is shown
const RIGHT = 20;

/** The view that Bokeh has of a figure, if it is on the screen. */
function viewOf(figure) {
  const view = Bokeh.index.find_one(figure);
  return view && view.el.offsetParent && view.frame.bbox.width > 0 ? view : null;
}

class Frame {
  /** `stack` is the element that holds all panels. */
  constructor(engine, stack) {
    this.engine = engine;
    this.stack = stack;
    this.measure();
  }

  /** Reads the ends of the axis, in pixels from the left side of the stack. */
  measure() {
    const origin = this.stack.getBoundingClientRect().left;
    const view = this.engine.figures.map(viewOf).find(Boolean);
    const beside = view ? view.el.getBoundingClientRect().left - origin : 0;
    this.left = view ? beside + view.frame.bbox.left : LEFT;
    this.width = view ? view.frame.bbox.width : this.stack.clientWidth - LEFT - RIGHT;
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

MT.frame = { Frame, viewOf };
