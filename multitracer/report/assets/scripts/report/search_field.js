// The field that searches: a list of hits below it, of which the keyboard or the pointer chooses one.

const WAIT_MS = 120; // the search begins when no key was pressed for so long

class SearchField {
  constructor(hits) {
    this.hits = hits;
    this.field = document.getElementById("mt-search");
    this.box = document.getElementById("mt-hits-box");
    this.list = document.getElementById("mt-hits");
    this.told = document.getElementById("mt-hits-told");
    this.options = []; // with `element` and `choose`
    this.active = -1;
    this.searched = null; // the text whose hits are listed
    this.before = null; // what had the focus
    this.field.addEventListener("focus", (event) => this.enter(event.relatedTarget));
    this.field.addEventListener("blur", () => this.close());
    this.field.addEventListener("input", () => this.searchSoon());
    this.field.addEventListener("keydown", (event) => this.press(event));
    this.box.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    this.list.addEventListener("click", (event) => this.chooseAt(event.target.closest("[role=option]")));
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  enter(before) {
    this.before = before;
    this.search();
    this.searchMore();
  }

  /** Searches again once all that can be searched is decoded, if the reader still does. */
  async searchMore() {
    const isMore = await this.hits.prepare();
    if (!isMore || document.activeElement !== this.field || !this.field.value.trim()) return;
    const chosen = this.options[this.active]?.element.textContent;
    this.searched = null;
    this.search();
    this.activate(this.options.findIndex(({ element }) => element.textContent === chosen));
  }

  press(event) {
    const last = this.options.length - 1;
    const actions = {
      ArrowDown: () => this.activate(this.active >= last ? 0 : this.active + 1),
      ArrowUp: () => this.activate(this.active <= 0 ? last : this.active - 1),
      Enter: () => this.choose(Math.max(this.active, 0)),
      Escape: () => this.leave(),
    };
    if (!actions[event.key] || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.key !== "Escape") this.search();
    actions[event.key]();
  }

  searchSoon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.search(), WAIT_MS);
  }

  /** Lists the hits of the field's text; the same text keeps the hit that was active. */
  search() {
    clearTimeout(this.waiting);
    const text = this.field.value.trim();
    if (text === this.searched && !this.box.hidden) return;
    const active = text === this.searched ? this.active : -1;
    this.searched = text;
    this.put(this.hits.of(text), this.hits.note(text));
    this.activate(active < this.options.length ? active : -1);
    this.box.hidden = !text && !this.options.length;
    this.field.setAttribute("aria-expanded", String(this.options.length > 0));
  }

  put(sorts, note) {
    const given = MT.lookup.shares(
      sorts.map((sort) => sort.count),
      MT.lookup.MOST,
    );
    this.options = [];
    this.list.replaceChildren(...sorts.map((sort, i) => this.group(sort, given[i], i)));
    const count = sorts.reduce((sum, sort) => sum + sort.count, 0);
    this.told.textContent = (count ? `${count.toLocaleString("en")} found.` : "Nothing found.") + note;
  }

  group(sort, given, number) {
    const group = document.createElement("div");
    const head = textElement("sort", sort.name);
    head.id = `mt-sort-${number}`;
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", head.id);
    group.append(head, ...sort.hits.slice(0, given).map((hit) => this.option(hit)));
    const more = sort.count - given;
    if (more > 0) group.append(textElement("more", `${more.toLocaleString("en")} more`));
    return group;
  }

  option({ text, choose }) {
    const element = document.createElement("div");
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", "false");
    element.id = `mt-hit-${this.options.length}`;
    element.textContent = text;
    this.options.push({ element, choose });
    return element;
  }

  activate(place) {
    this.active = place;
    this.options.forEach(({ element }, i) => element.setAttribute("aria-selected", String(i === place)));
    const option = this.options[place];
    if (!option) {
      this.field.removeAttribute("aria-activedescendant");
      return;
    }
    this.field.setAttribute("aria-activedescendant", option.element.id);
    option.element.scrollIntoView({ block: "nearest" });
  }

  chooseAt(element) {
    if (element) this.choose(this.options.findIndex((one) => one.element === element));
  }

  choose(place) {
    const option = this.options[place];
    if (!option) return;
    this.activate(place);
    this.leave();
    option.choose();
  }

  close() {
    clearTimeout(this.waiting);
    this.box.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  /** Closes the list, and gives the focus back to what had it, so that the page's keys work again. */
  leave() {
    this.close();
    this.field.blur();
    if (this.before && this.before.isConnected) this.before.focus();
  }
}

function textElement(name, text) {
  const element = document.createElement("div");
  element.className = name;
  element.setAttribute("role", "presentation");
  element.textContent = text;
  return element;
}

MT.searchField = { SearchField };
