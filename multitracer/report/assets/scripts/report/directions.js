// The two ways of each connection: what the sender of its data sent, and what the other end did, with the direction of
// the link that carried it. The page says in its panels' titles which of them is shown.

class Directions {
  /** `ways` has the numbers of the connections and of each its two ways, as JSON; `turn` shows the other direction. */
  constructor(page, ways, turn) {
    this.page = page;
    this.known = new Map(ways.number.map((number, i) => [number, ways.described[i]]));
    this.button = document.getElementById("mt-turn"); // none in a page without connection and link
    this.button?.addEventListener("click", turn);
    this.titles = document.querySelectorAll("[data-mt-sent]");
    this.rates = document.querySelectorAll(".entry.rate");
  }

  /** The connection that is shown first where none can be chosen; an empty text is the link alone. */
  get onlyOne() {
    return this.known.keys().next().value;
  }

  has(number) {
    return this.known.has(number);
  }

  /** What is known of a connection, parsed when it is first asked for. */
  described(number) {
    const known = this.known.get(number);
    if (typeof known === "string") this.known.set(number, JSON.parse(known));
    return this.known.get(number);
  }

  /** A way of a connection: the groups of its columns, `group` and `link`, its titles and rate. */
  of(number, way) {
    return this.described(number).ways[way];
  }

  /** Why there is nothing to show of a connection's other end and link; empty where there is. */
  nothing(number) {
    return this.described(number).nothing;
  }

  /** The way in which a connection is shown after another one was shown in some way: where there are data. */
  kept(number, way) {
    return this.of(number, way).hasData ? way : 0;
  }

  /** Says which way is shown, and whether there is another one. */
  tell(number, way) {
    const { titles, rate } = this.of(number, way);
    for (const element of this.titles) {
      element.textContent = titles[element.dataset.mtSent];
      element.parentElement.hidden = !element.textContent; // with its comma
    }
    this.tellRate(rate);
    if (!this.button) return;
    const nothing = this.nothing(number);
    this.button.setAttribute("aria-pressed", String(way === 1));
    this.button.setAttribute("aria-disabled", String(Boolean(nothing)));
    this.button.title = nothing || `show what the ${way ? "data's sender" : "other end"} sent (D)`;
  }

  /** Draws the link's rate of this way as slope and level, where it is known. */
  tellRate(rate) {
    for (const model of this.page.models.filter(({ name }) => name === "rate")) {
      if (rate) model.setv(model.type === "Slope" ? { gradient: rate.bps / 8 } : { location: rate.bps / 1e3 });
      model.visible = Boolean(rate);
    }
    for (const entry of this.rates) {
      entry.hidden = !rate;
      if (rate) entry.lastChild.textContent = rate.text;
    }
  }
}

MT.directions = { Directions };
