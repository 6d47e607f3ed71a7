// The stack of panels: which are folded, in which order, and how high each is. It fits the window.

const STEP = 1.25; // by which a key changes a panel's share of the room
const NARROW = "(max-width: 1279px)"; // one column: every panel as high as it likes to be
const TALL = { sequence: 320 };
const USUAL = 180;
const TICK = 30; // pixels of a panel's height for each number that Bokeh is asked for; it may draw twice as many

class Stack {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    this.panels = Array.from(element.querySelectorAll("[data-mt-panel]"), (section) => this.panelOf(section));
    this.usual = this.names;
    this.narrow = matchMedia(NARROW);
    this.resized = null; // watches the room for panels once they are fitted
  }

  /** Fits the panels, from now on whenever their room changes. Each fit draws all again: complete the heads before. */
  begin() {
    if (this.resized) return;
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.element);
    for (const { section } of this.panels) this.resized.observe(section.querySelector(".head")); // its legend wraps
    this.fit();
  }

  panelOf(section) {
    const name = section.dataset.mtPanel;
    const canvas = section.querySelector(".canvas");
    const lanes = Math.min(section.querySelectorAll(".lane").length, Number(section.dataset.mostLanes || 0));
    const { LEAST, LANE, TIGHT_LANE, usualWeight } = MT.fitting;
    const [least, tight] = [LANE, TIGHT_LANE].map((lane) => Math.max(LEAST, lanes * lane));
    const panel = { name, section, canvas, least, tight, weight: usualWeight(name), isFolded: null };
    section.querySelector(".fold").addEventListener("click", () => this.toggle(panel));
    section.querySelector(".up").addEventListener("click", () => this.move(panel, -1));
    section.querySelector(".down").addEventListener("click", () => this.move(panel, 1));
    const sizer = section.querySelector(".sizer");
    if (sizer) this.watchSizer(panel, sizer);
    return panel;
  }

  get names() {
    return this.panels.map((panel) => panel.name);
  }

  isOpen(panel) {
    return !panel.canvas.hidden;
  }

  toggle(panel) {
    panel.isFolded = this.isOpen(panel);
    this.changed();
    if (!panel.isFolded) panel.section.scrollIntoView({ block: "nearest" });
  }

  /** Moves a panel up or down by one place; its button keeps the focus. */
  move(panel, by) {
    const from = this.panels.indexOf(panel);
    const to = from + by;
    if (to < 0 || to >= this.panels.length) return;
    const focused = document.activeElement;
    this.panels.splice(to, 0, this.panels.splice(from, 1)[0]);
    this.place();
    focused.focus();
    this.changed();
    panel.section.scrollIntoView({ block: "nearest" });
  }

  place() {
    for (const panel of this.panels) this.element.append(panel.section);
  }

  /** Up and down change a panel's height, as does dragging its lower edge. */
  watchSizer(panel, sizer) {
    sizer.addEventListener("keydown", (event) => {
      const factor = { ArrowDown: STEP, ArrowUp: 1 / STEP }[event.key];
      if (!factor) return;
      event.preventDefault();
      event.stopPropagation();
      panel.weight = Math.min(50, Math.max(0.05, panel.weight * factor));
      this.changed();
    });
    sizer.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      sizer.setPointerCapture(event.pointerId);
      const from = { y: event.clientY, weight: panel.weight, height: panel.canvas.clientHeight };
      const drag = (moved) => this.drag(panel, from, moved.clientY);
      sizer.addEventListener("pointermove", drag);
      const end = () => sizer.removeEventListener("pointermove", drag);
      sizer.addEventListener("lostpointercapture", end, { once: true });
    });
  }

  drag(panel, from, y) {
    const factor = Math.max(MT.fitting.LEAST, from.height + y - from.y) / from.height;
    panel.weight = Math.min(50, Math.max(0.05, from.weight * factor));
    this.changed();
  }

  changed() {
    this.fit();
    this.page.settleSoon();
  }

  /** Gives each panel its height; below 1280 pixels all are unfolded, one below the other. */
  fit() {
    if (!this.resized || matchMedia("print").matches || !this.element.clientHeight) return; // it keeps its heights
    const found = this.narrow.matches ? this.tall() : MT.fitting.heights(this.panels, this.room());
    const open = this.panels.filter((panel) => found[panel.name]);
    for (const panel of this.panels) {
      const height = found[panel.name] || 0;
      panel.canvas.hidden = !height;
      panel.canvas.style.height = `${height}px`;
      const sizer = panel.section.querySelector(".sizer");
      sizer?.setAttribute("aria-valuemax", String(Math.max(height, this.element.clientHeight)));
      sizer?.setAttribute("aria-valuenow", String(height));
      panel.section.querySelector(".fold").setAttribute("aria-expanded", String(Boolean(height)));
    }
    this.tellEngine(open, found);
  }

  /**
   * Folded panels are not drawn; only the lowest one that is drawn numbers the time axis. The numbers of the other axis
   * are as many as the panel's height has room for.
   */
  tellEngine(open, heights) {
    const names = open.map((panel) => panel.name);
    const lowest = names.filter((name) => name !== "time").pop();
    const unfolded = [];
    for (const panel of this.page.engine.panels) {
      const isFolded = !names.includes(panel.figure.tags[0]);
      if (panel.isFolded && !isFolded) unfolded.push(panel);
      panel.isFolded = isFolded;
      const isNumbered = this.narrow.matches || panel.figure.tags[0] === lowest;
      for (const axis of panel.figure.below) axis.visible = isNumbered;
      if (isFolded) continue;
      const ticks = Math.max(2, Math.floor(heights[panel.figure.tags[0]] / TICK));
      for (const { ticker } of panel.figure.left) ticker.desired_num_ticks = ticks;
    }
    this.page.redrawSoon(unfolded);
  }

  tall() {
    const open = this.panels.filter((panel) => !panel.isFolded);
    return Object.fromEntries(
      open.map(({ name, least }) => [name, Math.max(least, TALL[name] || (name === "time" ? 0 : USUAL))]),
    );
  }

  /** The room for what is drawn: the stack's height without the panels' heads and edges. */
  room() {
    const heads = this.panels.reduce((sum, { section, canvas }) => sum + section.offsetHeight - canvas.offsetHeight, 0);
    return this.element.clientHeight - heads - 1;
  }

  /** The reader's choice as text: the panels in order, a minus before folded ones, a weight behind resized ones. */
  toText() {
    const isUsual = this.panels.every((panel) => panel.isFolded === null && isUsualWeight(panel));
    if (isUsual && this.names.join() === this.usual.join()) return "";
    return this.panels.map(textOf).join(",");
  }

  /** Takes a choice from a text; says whether it was one. Panels that this page does not have are passed over. */
  fromText(text) {
    const parsed = text.split(",").map(parsePanel);
    if (!parsed.every((one) => one && MT.fitting.NAMES.includes(one.name))) return false;
    const chosen = parsed.filter((one) => this.names.includes(one.name));
    for (const one of chosen)
      Object.assign(
        this.panels.find((panel) => panel.name === one.name),
        one,
      );
    const order = chosen.map((one) => one.name);
    this.panels.sort((a, b) => placeIn(order, a.name) - placeIn(order, b.name));
    this.place();
    this.fit();
    return true;
  }
}

function isUsualWeight(panel) {
  return panel.weight === MT.fitting.usualWeight(panel.name);
}

function textOf(panel) {
  const sign = panel.isFolded === null ? "" : panel.isFolded ? "-" : "+";
  return sign + panel.name + (isUsualWeight(panel) ? "" : `:${panel.weight.toPrecision(3)}`);
}

/** One panel of such a text, or null. */
function parsePanel(text) {
  const found = /^([+-]?)([a-z]+)(?::(\d{1,2}(?:\.\d{1,4})?))?$/.exec(text);
  if (!found) return null;
  const [, sign, name, weight] = found;
  const isFolded = sign ? sign === "-" : null;
  return { name, isFolded, weight: weight ? Number(weight) : MT.fitting.usualWeight(name) };
}

function placeIn(order, name) {
  const place = order.indexOf(name);
  return place < 0 ? order.length : place;
}

MT.stack = { Stack, parsePanel };
