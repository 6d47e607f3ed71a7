// What all pages share: has Bokeh build the panels, starts the engine, then redraws after every move, and keeps
// the view, the theme and the hidden series in the address.

const SETTLE_MS = 300; // a view is kept, and put into the address, when it has not moved for so long
const POLL_MS = 30;
const HELD_MS = 60_000; // a button that is held no longer than this before the pointer moves begins a drag

class Page {
  constructor(doc, labels) {
    this.doc = doc;
    this.labels = labels;
    this.models = Array.from(doc.all_models || doc._all_models.values());
    this.engine = new MT.Engine(doc, this.models);
    this.timeRange = this.engine.timeRange;
    this.whole = [this.timeRange.start, this.timeRange.end];
    this.views = new MT.views.Views(this.timeRange, this.whole);
    const readout = document.getElementById("mt-readout");
    this.cursor = readout ? new MT.Cursor(this.engine, labels) : null; // the report has a crosshair of its own
    this.load = MT.loading.createLoader();
    this.help = document.getElementById("mt-help");
    this.status = document.getElementById("mt-status");
    this.notice = null; // what the status line says besides what is drawn
    this.isShown = false; // whether the first view is drawn
    this.due = null; // the panels that are redrawn at the end of this task, if any are
    this.keys = this.commonKeys();
    dragAfterHolding(this.models);
  }

  commonKeys() {
    return {
      w: () => this.views.zoom(0.5),
      s: () => this.views.zoom(2),
      a: () => this.views.pan(-0.2),
      d: () => this.views.pan(0.2),
      0: () => this.views.showAll(),
      u: () => this.back(),
      t: () => this.toggleTheme(),
      ArrowLeft: () => this.cursor.move(-0.01),
      ArrowRight: () => this.cursor.move(0.01),
      "?": () => this.help.showModal(),
    };
  }

  label(name) {
    return this.labels[name] || name;
  }

  back() {
    clearTimeout(this.settling);
    this.views.back();
  }

  toggleTheme() {
    MT.theme.apply(MT.theme.current() === "dark" ? "light" : "dark", this.models);
    this.redraw();
    this.settle();
  }

  /** Redraws panels, by default all, once for all changes of one task: a move changes both ends of the time range. */
  redrawSoon(panels = this.engine.panels) {
    if (!this.due) {
      this.due = new Set();
      queueMicrotask(() => {
        const due = Array.from(this.due);
        this.due = null;
        this.redraw(due);
      });
    }
    panels.forEach((panel) => this.due.add(panel));
  }

  redraw(panels = this.engine.panels) {
    const begun = performance.now();
    panels.forEach((panel) => this.due?.delete(panel));
    const isExact = this.engine.draw(panels);
    Object.assign(MT, { drawnMs: performance.now() - begun, draws: MT.draws + 1, isExact });
    MT.status.show(this.status, this.engine, isExact);
    this.repeatNotice();
    this.settleSoon();
  }

  /** Says something in the status line, until the view moves. */
  say(text) {
    const { start, end } = this.timeRange;
    this.notice = text ? { text, start, end } : null;
    this.repeatNotice();
  }

  repeatNotice() {
    const { start, end } = this.timeRange;
    if (this.notice && (this.notice.start !== start || this.notice.end !== end)) this.notice = null;
    this.status.classList.toggle("notice", Boolean(this.notice));
    if (this.notice) this.status.textContent = this.notice.text;
    this.status.title = this.status.textContent; // a narrow line cuts it
  }

  /**
   * Keeps the view, and puts what the reader chose into the address, once it has come to rest. What is there before the
   * page has shown its first view is none that a reader chose.
   */
  settleSoon() {
    clearTimeout(this.settling);
    if (this.isShown) this.settling = setTimeout(() => this.settle(), SETTLE_MS);
  }

  settle() {
    this.views.remember();
    const { start, end } = this.timeRange;
    const panels = this.stack ? this.stack.toText() : "";
    const shown = { ...this.connections?.toAddress, ...this.alignment?.toAddress };
    const address = MT.address.format(start, end, MT.theme.current(), this.engine.hidden(), panels, shown);
    const base = location.href.split("#")[0].length;
    const pins = this.pins ? this.pins.toAddress(MT.address.MOST - base - address.length) : "";
    history.replaceState(null, "", address + pins);
  }

  /** Takes what an address asks for but the view and the theme; returns what of it is not understood. */
  takeOver({ hidden, panels, pins, connection, direction, aligned, damaged }) {
    const known = this.engine.parts.map((part) => part.name);
    this.engine.hide(hidden);
    const isUnderstood = !panels || (this.stack && this.stack.fromText(panels));
    const asked = [...(connection ? [`con=${connection}`] : []), ...(direction ? [`dir=${direction}`] : [])];
    return [
      ...damaged,
      ...hidden.filter((name) => !known.includes(name)).map((name) => `hide=${name}`),
      ...(isUnderstood ? [] : [`panels=${panels}`]),
      ...(this.connections ? this.connections.take(connection, direction) : asked),
      ...(this.alignment ? this.alignment.take(aligned) : aligned ? [`at=${aligned}`] : []),
      ...(this.pins ? this.pins.fromAddress(pins) : pins).map((pin) => `pins=${pin}`),
    ];
  }

  /** Follows an address that was put into the browser's field while the page is open. */
  readAddress() {
    const asked = MT.address.parse(location.hash);
    if (asked.theme) MT.theme.apply(asked.theme, this.models);
    const damaged = this.takeOver(asked);
    if (asked.view) this.views.show(asked.view[0], asked.view[1]);
    this.redraw();
    this.say(MT.address.complaint(damaged));
  }

  /** `setUp(page)` loads what the page draws, and returns a function that draws it the first time. */
  async start(setUp) {
    const asked = MT.address.parse(location.hash);
    document.getElementById("mt-theme").addEventListener("click", this.keys.t);
    document.getElementById("mt-help-button").addEventListener("click", this.keys["?"]);
    MT.keys.listen(this.keys, this.help);
    MT.theme.apply(asked.theme || MT.theme.preferred(), this.models);
    const drawFirst = await setUp(this);
    const damaged = this.takeOver(asked);
    this.engine.onVisibility = () => this.redrawSoon();
    this.timeRange.properties.start.change.connect(() => this.redrawSoon());
    this.timeRange.properties.end.change.connect(() => this.redrawSoon());
    if (asked.view) this.views.show(asked.view[0], asked.view[1]);
    await drawFirst();
    this.isShown = true;
    this.settleSoon();
    this.say(MT.address.complaint(damaged));
    window.addEventListener("hashchange", () => this.readAddress());
    document.documentElement.dataset.mtReady = "1";
  }
}

async function run(doc, labels, setUp) {
  const page = new Page(doc, labels);
  Object.assign(MT, { engine: page.engine, draws: 0 });
  await page.start(setUp);
}

function complain(error) {
  console.error(error);
  for (const canvas of document.querySelectorAll(".canvas")) canvas.hidden = false;
  document.getElementById("mt-status").textContent = "Only a first sight is drawn: " + error;
}

function whenIdle(doc, then) {
  if (doc.is_idle) then();
  else setTimeout(() => whenIdle(doc, then), POLL_MS);
}

/**
 * Lets a drag begin however long the button was held before. Bokeh takes a button held for 300 ms for a press, which no
 * tool of these pages knows, and then drags nothing; so it does when the page was busy for as long.
 */
function dragAfterHolding(models) {
  const figure = models.find((model) => model.type === "Figure");
  const view = figure && Bokeh.index.find_one(figure);
  if (view) view.canvas_view.ui_event_bus.ui_gestures.constructor.press_threshold = HELD_MS;
}

/** Starts a page as soon as Bokeh has built its panels; `labels` are the texts for names of series. */
async function start(labels, setUp) {
  try {
    const { doc, targets } = JSON.parse(document.getElementById("mt-figures").textContent);
    const ids = doc.roots.map((root) => root.id);
    const roots = Object.fromEntries(ids.map((id, i) => [id, targets[i]]));
    await Bokeh.embed.embed_items({ page: doc }, [{ docid: "page", root_ids: ids, roots }]);
  } catch (error) {
    complain(error);
    return;
  }
  const doc = Bokeh.documents[0];
  whenIdle(doc, () => run(doc, labels, setUp).catch(complain));
}

/** For pages whose series are all drawn from the beginning: loads the one group of them. */
async function drawAll(page) {
  for (const [name, one] of await page.load("all")) page.engine.put(name, one.kind, one.columns);
  return async () => page.redraw();
}

/** For pages whose figures hold all their points and have no time axis: nothing is drawn again, no cursor is read. */
function keepStill(page) {
  page.redraw = () => page.settleSoon();
  document.getElementById("mt-readout").hidden = true;
  return async () => {};
}

MT.page = { start, drawAll, keepStill };
