// The list of findings: the dearest first, what each set off below it. A finding that is chosen is brought into view,
// and what it is, with its evidence, is told beside it.

const ROOM = 0.5; // of a finding's length, left at both its sides

class Findings {
  constructor(page) {
    this.page = page;
    this.tree = document.getElementById("mt-findings");
    this.items = new Map();
    for (const item of this.tree ? this.tree.querySelectorAll("[data-mt-finding]") : []) {
      this.items.set(Number(item.dataset.mtFinding), item);
    }
    this.roots = this.tree ? Array.from(this.tree.children, (item) => Number(item.dataset.mtFinding)) : [];
    this.current = null;
    this.onShow = () => {};
    this.bringUp = () => null; // shows the connection and the way of a finding; a promise if others were shown
    const [first] = this.items.values();
    if (first) first.tabIndex = 0;
    if (this.tree) this.listen();
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-finding]");
      if (button) this.show(Number(button.dataset.finding));
    });
  }

  listen() {
    this.tree.addEventListener("click", (event) => {
      const item = event.target.closest("[data-mt-finding]");
      if (event.target.closest(".more")) this.unfold(item, item.getAttribute("aria-expanded") !== "true");
      else this.show(Number(item.dataset.mtFinding));
    });
    this.tree.addEventListener("keydown", (event) => this.press(event));
  }

  /** The keys of a tree: up and down, right unfolds, left folds or goes to the cause, Enter and Space choose. */
  press(event) {
    const item = event.target.closest("[data-mt-finding]");
    const isFolder = item.hasAttribute("aria-expanded");
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const visible = Array.from(this.items.values()).filter((one) => one.offsetParent);
    const place = visible.indexOf(item);
    const above = item.parentElement.closest("[data-mt-finding]");
    const actions = {
      ArrowDown: () => focusOn(visible[place + 1]),
      ArrowUp: () => focusOn(visible[place - 1]),
      Home: () => focusOn(visible[0]),
      End: () => focusOn(visible[visible.length - 1]),
      ArrowRight: () => (isFolder && !isOpen ? this.unfold(item, true) : focusOn(visible[place + 1])),
      ArrowLeft: () => (isOpen ? this.unfold(item, false) : focusOn(above)),
      Enter: () => this.show(Number(item.dataset.mtFinding)),
      " ": () => this.show(Number(item.dataset.mtFinding)),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  unfold(item, isOpen) {
    item.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) scrollInto(this.tree.parentElement, item.querySelector(":scope > ul .row"));
  }

  /**
   * Chooses a finding: shows its connection and direction, marks it in the list, tells of it, brings its interval into
   * view, and the cursor to its begin. Returns a promise of that if others were shown.
   */
  show(index) {
    const item = this.items.get(index);
    if (!item) return null;
    const other = this.bringUp(item.dataset.connection, item.dataset.way ?? "");
    if (other) return other.then(() => this.choose(index, item));
    return this.choose(index, item);
  }

  choose(index, item) {
    this.current = index;
    for (let above = item.parentElement.closest("li"); above; above = above.parentElement.closest("li")) {
      this.unfold(above, true);
    }
    for (const [other, element] of this.items) {
      element.setAttribute("aria-selected", String(other === index));
      element.tabIndex = other === index ? 0 : -1;
    }
    scrollInto(this.tree.parentElement, item.querySelector(".row"));
    this.tell(index);
    const [start, end] = this.timesOf(item);
    const { whole, views } = this.page;
    const around = Math.min((whole[1] - whole[0]) * 0.01, 20 * (end - start) + 0.5); // of an hour 1 % would hide it
    const room = Math.max((end - start) * ROOM, around, 0.05);
    views.show(start - room, end + room);
    this.page.cursor.show(Number(item.dataset.start));
    this.onShow();
    return null;
  }

  /** What is brought into view with a finding. */
  timesOf({ dataset }) {
    return [Number(dataset.start), Number(dataset.end)];
  }

  /** Whether a finding's slice is marked. */
  isMarked(index) {
    return index === this.current;
  }

  tell(index) {
    const articles = Array.from(document.querySelectorAll("[data-detail]"));
    for (const article of articles) article.hidden = Number(article.dataset.detail) !== index;
    MT.pane.tell();
    MT.pane.bring(articles.find((article) => !article.hidden));
  }

  clear() {
    this.current = null;
    for (const item of this.items.values()) item.setAttribute("aria-selected", "false");
    for (const article of document.querySelectorAll("[data-detail]")) article.hidden = true;
    this.onShow();
  }

  /** The findings about a connection and a way of it, and about none or any: index, kind, start and end. */
  about(connection, way) {
    const own = Array.from(this.items, ([index, { dataset }]) => ({
      index,
      kind: dataset.kind,
      connection: dataset.connection,
      way: dataset.way ?? "",
      start: Number(dataset.start),
      end: Number(dataset.end),
    }));
    return own.filter((one) => ["", connection].includes(one.connection) && ["", String(way)].includes(one.way));
  }

  /** The next (`by` 1) or the previous root, round at the ends. */
  step(by) {
    if (!this.roots.length) {
      this.page.say("There is no finding.");
      return;
    }
    const place = this.roots.indexOf(this.rootOf(this.current));
    const next = place < 0 ? (by > 0 ? 0 : -1) : place + by;
    this.show(this.roots[(next + this.roots.length) % this.roots.length]);
  }

  /** How many findings there are of each kind, those of most first. */
  kinds() {
    const counts = new Map();
    for (const { dataset } of this.items.values()) counts.set(dataset.kind, (counts.get(dataset.kind) || 0) + 1);
    return Array.from(counts, ([kind, count]) => ({ kind, count })).sort((a, b) => b.count - a.count);
  }

  /** Chooses the earliest finding of a kind, at the next call the one that began after it. */
  showKind(kind) {
    const own = Array.from(this.items).filter(([, { dataset }]) => dataset.kind === kind);
    const order = own.sort(([, a], [, b]) => a.dataset.start - b.dataset.start).map(([index]) => index);
    this.show(order[(order.indexOf(this.current) + 1) % order.length]);
  }

  /** The finding at the root of the chain that a finding belongs to. */
  rootOf(index) {
    let item = this.items.get(index);
    for (let above = item; above; above = above.parentElement.closest("li")) item = above;
    return item ? Number(item.dataset.mtFinding) : null;
  }
}

function focusOn(item) {
  if (item) item.focus();
}

/** Scrolls an element's own scroll bar alone, never the page's. */
function scrollInto(box, element) {
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop += inner.top - outer.top - 28;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 4;
}

MT.Findings = Findings;
