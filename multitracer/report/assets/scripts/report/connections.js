// The series that the panels show: what one end of the chosen connection sent, and the link's frames of that direction.

const NOTHING = new Map();
const SMALL = 0.1; // of a view: a connection that lasts no longer is brought into view
const LEAST_ROOM_S = 0.01;

/** Adds loaded series to the engine, except those that are maps: they are looked up, not drawn. */
function put(engine, loaded) {
  loaded.forEach((one, name) => {
    if (one.kind !== "map") engine.put(name, one.kind, one.columns, one.step);
  });
}

/** Moves the line of the link's rate to where the data begins; without data takes it and its entry away. */
function alignRate(page) {
  const first = page.engine.series.get("segments");
  const slope = page.models.find((model) => model.type === "Slope" && model.name === "rate");
  if (!slope) return;
  if (first && first.n) {
    slope.setv({ y_intercept: first.y[0] - slope.gradient * first.x[0] });
  } else {
    slope.visible = false;
    document.querySelector('[data-mt-panel="sequence"] .entry.rate').hidden = true;
  }
}

class Connections {
  /**
   * `known` has the columns of the connections' `ways` and of the table's `rows`. `changed` is called when other
   * series are there, before they are drawn, with whether they are of another connection; `fated` when their fates
   * are; `chosen` when the reader chooses a connection.
   */
  constructor(page, known, { changed, fated, chosen }) {
    Object.assign(this, { page, changed, fated, chosen });
    this.directions = new MT.directions.Directions(page, known.get("ways").columns, () => this.turn());
    this.table = this.tableOf(known.get("rows"));
    /** All connections that can be shown: number and text. */
    this.all = (this.table?.all ?? []).filter(({ number }) => this.directions.has(number));
    this.select = document.getElementById("mt-connection");
    this.select?.append(...this.all.map(({ number, text }) => new Option(text, number)));
    this.names = { group: [], link: [] }; // of the series that are shown
    this.groups = { group: null, link: null }; // of their columns
    this.asked = null; // the connection and the way that were last asked for; their columns may still be decoded
    this.shown = null; // the number of the connection whose series are drawn, as text
    this.way = 0; // 0 what its data's sender sent, 1 what the other end did
    this.map = null; // which frames carried which segment
    this.hidden = null; // the series of the other way, once they are decoded to be searched
    this.select?.addEventListener("change", () => this.choose(this.select.value));
  }

  /** The table of all connections; null where none was captured. */
  tableOf(rows) {
    const canShow = (number) => this.directions.has(number);
    const open = (number, way) => {
      this.choose(number, this.directions.nothing(number) ? 0 : way);
      document.getElementById("mt-first").scrollIntoView();
    };
    return rows ? new MT.connectionTable.ConnectionTable(rows.columns, { canShow, open }) : null;
  }

  /** Shows the connection that the reader chooses, by default in the way in which one was shown. */
  choose(number, way) {
    this.chosen();
    this.bringTimeUp(number);
    this.show(number, way);
  }

  /** Brings the time of a connection into view, where it is not there, or a small part of it. */
  bringTimeUp(number) {
    const { views } = this.page;
    const [from, to] = views.current;
    const [start, end] = this.table.timesOf(number);
    if (end > from && start < to && end - start > SMALL * (to - from)) return;
    const room = Math.max((end - start) / 20, LEAST_ROOM_S);
    views.show(start - room, end + room);
  }

  /** The one that is shown where nothing else is asked for. */
  get first() {
    return this.select ? this.select.options[0].value : this.directions.onlyOne;
  }

  /**
   * Shows the connection and the way that an address asks for, at first once the panels are drawn; returns what of
   * these there is not. An empty text stands for the first connection.
   */
  take(connection, way) {
    const isKnown = !connection || this.directions.has(connection);
    const number = isKnown && connection ? connection : this.first;
    const isTurned = !way || !this.directions.nothing(number);
    const asked = { number, way: isTurned ? way : 0 };
    if (this.shown === null) this.asked = asked;
    else if (number !== this.asked.number || asked.way !== this.asked.way) this.show(number, asked.way);
    return [...(isKnown ? [] : [`con=${connection}`]), ...(isTurned ? [] : [`dir=${way}`])];
  }

  /** What an address has to tell: nothing of the first connection. */
  get toAddress() {
    return { connection: this.shown === this.first ? "" : this.shown, direction: this.way };
  }

  /** Shows the connection and the way that something is about; an empty text stands for any. A promise, or null. */
  bringUp(connection, way) {
    const number = this.directions.has(connection) ? connection : this.shown;
    const isAbout = number === connection && way !== "";
    const usual = number === this.shown ? this.way : this.directions.kept(number, this.way);
    const wanted = isAbout ? Number(way) : usual;
    return number !== this.shown || wanted !== this.way ? this.show(number, wanted) : null;
  }

  /** Shows the other direction, or says why there is none. */
  async turn() {
    const { number, way } = this.asked;
    const nothing = this.directions.nothing(number);
    if (nothing) this.page.say(`There is no other direction to show: ${nothing}.`);
    else await this.show(number, 1 - way);
  }

  /** Decodes the series of the other way of what is shown; returns whether they were not there before. */
  async decodeHidden() {
    const { shown, way } = this;
    if (this.hidden || this.directions.nothing(shown)) return false;
    const { group, link } = this.directions.of(shown, 1 - way);
    const loaded = await Promise.all([this.load(group), this.load(link)]);
    if (this.shown !== shown || this.way !== way) return false;
    this.hidden = {
      series: new Map(
        loaded.flatMap((all) =>
          Array.from(all, ([name, { columns, step }]) => [name, { name, columns, step, n: columns.x.length }]),
        ),
      ),
    };
    return true;
  }

  /** Shows a way of a connection; when another one is asked for while its columns are decoded, that one wins. */
  async show(number, way = this.directions.kept(number, this.way)) {
    const asked = { number, way };
    this.asked = asked;
    const wanted = this.directions.of(number, way);
    const [own, link] = await Promise.all([this.load(wanted.group), this.load(wanted.link)]);
    if (this.asked !== asked) return;
    const isOther = this.shown !== number;
    Object.assign(this, { shown: number, way, map: link.get("carried")?.columns ?? null, hidden: null });
    if (this.select) this.select.value = number;
    this.exchange("group", wanted.group, own);
    this.exchange("link", wanted.link, link);
    this.changed(isOther);
    this.directions.tell(number, way);
    this.table?.show(number, way);
    this.draw();
    Object.assign(document.documentElement.dataset, { mtConnection: number, mtWay: way });
    this.addFates(asked, wanted.group);
  }

  async load(group) {
    return group === null ? NOTHING : this.page.load(group);
  }

  /** Puts the series of one group of columns into the place of those of another. */
  exchange(place, group, loaded) {
    const { engine } = this.page;
    if (this.groups[place] === group) return;
    this.names[place].forEach((name) => engine.drop(name));
    this.groups[place] = group;
    this.names[place] = Array.from(loaded.keys());
    put(engine, loaded);
  }

  draw() {
    const { engine, cursor } = this.page;
    alignRate(this.page);
    engine.blankDropped();
    MT.overview.draw(this.page);
    this.page.redraw();
    cursor.refresh();
  }

  /** Adds what became of the segments, decoded once the rest is on the screen. */
  async addFates(asked, group) {
    const { engine, cursor } = this.page;
    await MT.loading.whenIdle();
    const loaded = await this.load(group && `${group} fates`);
    if (this.asked !== asked) return;
    this.names.group.push(...MT.fates.put(engine, loaded));
    this.fated();
    this.page.redraw();
    cursor.refresh();
    document.documentElement.dataset.mtFates = group;
  }
}

MT.connections = { Connections };
