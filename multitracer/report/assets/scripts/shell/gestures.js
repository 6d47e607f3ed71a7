// The pointer over the panels: it reads values, moves and zooms the time axis, selects a part of it, chooses a mark.

const STILL = 4; // pixels: a press that moves no farther is a click
const NOTCH = 1.2; // by which a wheel's notch of 100 zooms

/** By which a turn of the wheel widens the view. */
function zoomOf(deltaY) {
  return NOTCH ** (Math.max(-400, Math.min(400, deltaY)) / 100);
}

/** The figure whose panel is at an event, and the place in its units; null outside of every figure. */
function placeOf(engine, event) {
  const section = event.target.closest("[data-mt-panel]");
  const figure = section && engine.figures.find((one) => one.tags[0] === section.dataset.mtPanel);
  const view = figure && MT.frame.viewOf(figure);
  if (!view) return null;
  const at = view.el.getBoundingClientRect();
  const x = view.frame.x_scale.invert(event.clientX - at.left);
  return { figure, x, y: view.frame.y_scale.invert(event.clientY - at.top) };
}

class Gestures {
  /**
   * `actions` are functions: point(time, event), leave(), and where the page has these, select(start, end) and
   * choose(place) with null outside of every figure.
   */
  constructor(page, frame, element, actions) {
    Object.assign(this, { page, frame, element, actions });
    this.pressed = null;
    this.fingers = new Map(); // on the screen: where each is, by its pointer's number
    this.pinched = null; // while two are
    this.isSelecting = false; // whether the next drag selects, without Shift too
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.pointed(event));
    element.addEventListener("pointerup", (event) => this.release(event));
    element.addEventListener("pointercancel", (event) => this.cancel(event));
    element.addEventListener("pointerleave", () => actions.leave());
  }

  /** With Ctrl, or by a pinch, which browsers report so, the wheel zooms at the pointer; alone it scrolls. */
  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.page.views.zoomAt(this.frame.timeAt(event.clientX), zoomOf(event.deltaY));
  }

  /** Makes the next drag select a part of the time, or again move it. */
  setSelecting(isSelecting) {
    this.isSelecting = isSelecting;
    this.element.classList.toggle("selecting", isSelecting);
    document.getElementById("mt-select").setAttribute("aria-pressed", String(isSelecting));
  }

  press(event) {
    if (event.button !== 0 || !event.target.closest(".canvas") || event.target.closest("button")) return;
    this.element.setPointerCapture(event.pointerId);
    event.preventDefault();
    document.activeElement?.blur(); // which the browser would do, but for preventDefault
    if (event.pointerType === "touch") this.fingers.set(event.pointerId, event.clientX);
    if (this.fingers.size > 1) this.beginPinch();
    else {
      const { start, end } = this.page.timeRange;
      const isSelecting = Boolean(this.actions.select) && (event.shiftKey || this.isSelecting);
      this.pressed = { x: event.clientX, view: [start, end], isSelecting, isDrag: false };
    }
  }

  /** Two fingers keep the times that they lie on; more of them change nothing. */
  beginPinch() {
    this.pressed = null;
    const [one, other] = Array.from(this.fingers.values(), (x) => this.frame.timeAt(x));
    this.pinched = this.fingers.size === 2 && one !== other ? { one, other } : null;
  }

  pinchTo() {
    const [x, otherX] = this.fingers.values();
    const { left, width } = this.frame;
    const origin = this.element.getBoundingClientRect().left + left;
    const { one, other } = this.pinched;
    if (Math.abs(x - otherX) < STILL || other > one !== otherX > x) return;
    const perPixel = (other - one) / (otherX - x);
    const start = one - (x - origin) * perPixel;
    this.page.views.show(start, start + width * perPixel);
  }

  pointed(event) {
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, event.clientX);
    if (this.pinched) this.pinchTo();
    else if (this.pressed) this.dragTo(event.clientX);
    else if (event.target.closest(".canvas")) this.actions.point(this.frame.timeAt(event.clientX), event);
    else this.actions.leave();
  }

  dragTo(x) {
    const { view, isSelecting } = this.pressed;
    if (!this.pressed.isDrag && Math.abs(x - this.pressed.x) < STILL) return;
    this.pressed.isDrag = true;
    if (isSelecting) {
      const [start, end] = this.page.whole;
      const times = [this.pressed.x, x].map((at) => Math.min(end, Math.max(start, this.frame.timeAt(at))));
      this.actions.select(Math.min(...times), Math.max(...times));
      return;
    }
    const by = ((this.pressed.x - x) / this.frame.width) * (view[1] - view[0]);
    this.page.views.show(view[0] + by, view[1] + by);
  }

  cancel(event) {
    this.fingers.delete(event.pointerId);
    this.pressed = this.pinched = null;
  }

  release(event) {
    this.fingers.delete(event.pointerId);
    this.pinched = null;
    if (!this.pressed) return;
    const { isDrag } = this.pressed;
    this.pressed = null;
    if (isDrag && this.isSelecting) this.setSelecting(false);
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const at = under ? { target: under, clientX: event.clientX, clientY: event.clientY } : event;
    if (!isDrag) this.actions.choose?.(placeOf(this.page.engine, at));
  }
}

MT.gestures = { zoomOf, placeOf, Gestures };
