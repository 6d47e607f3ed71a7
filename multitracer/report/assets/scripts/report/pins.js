// Pins: times that the reader marked, each with a note, as lines through all panels and as a list.

const FILE = "multitracer-pins.json";
const LARGEST = 1_000_000; // bytes of a file of pins that is read
const FULL = `There are ${MT.pinTexts.MOST} pins, which is the most: remove one.`;
const NEAR_END = 30; // pixels: a flag that has not so much room at its right stands at its left

class Pins {
  constructor(page, frame) {
    Object.assign(this, { page, frame });
    this.all = [];
    this.draft = null; // the time of the pin whose note is being written
    this.left = 0; // of the pins, those that the address does not hold
    this.stack = document.getElementById("mt-stack");
    this.pane = document.getElementById("mt-details");
    this.form = document.getElementById("mt-pin-form");
    this.note = document.getElementById("mt-pin-note");
    this.list = document.getElementById("mt-pin-list");
    this.file = document.getElementById("mt-pins-file");
    this.flags = [];
    this.listen();
    page.engine.otherDrawings.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.stack);
    this.tell();
  }

  listen() {
    const on = (id, action) => document.getElementById(id).addEventListener("click", action);
    on("mt-pin-set", () => this.begin());
    on("mt-pin-drop", () => this.end());
    on("mt-pins-save", () => this.save());
    on("mt-pins-read", () => this.file.click());
    this.file.addEventListener("change", () => this.readChosen());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.keep();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      this.end();
    });
    this.list.addEventListener("click", (event) => this.press(event.target.closest("button")));
    document.addEventListener("dragover", (event) => {
      if (event.dataTransfer.types.includes("Files")) event.preventDefault();
    });
    document.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.read(event.dataTransfer.files[0]);
    });
  }

  /**
   * Asks for the note of a pin at the cursor; where the cursor is not in view, in the middle of it. A note that is
   * being written stays.
   */
  begin() {
    if (this.draft !== null) {
      this.note.focus();
      return;
    }
    const { start, end } = this.page.timeRange;
    const { time } = this.page.cursor;
    const isInView = time !== null && time >= start && time <= end;
    this.draft = MT.pinTexts.atNanosecond(isInView ? time : (start + end) / 2);
    this.before = document.activeElement;
    document.getElementById("mt-pin-time").textContent = `${this.draft.toFixed(6)} s`;
    this.form.hidden = false;
    this.note.value = "";
    this.note.focus({ preventScroll: true });
    const form = this.form.getBoundingClientRect();
    const pane = this.pane.getBoundingClientRect();
    this.pane.scrollTop += Math.max(0, form.bottom + 8 - pane.bottom);
    this.draw();
  }

  /** Keeps the pin whose note was written; where there are as many as there can be, says so, and leaves the note. */
  keep() {
    if (this.all.length >= MT.pinTexts.MOST) {
      this.page.say(FULL);
      return;
    }
    if (this.draft !== null) this.add([{ time: this.draft, note: this.note.value }]);
    this.end();
  }

  /** Closes the field of the note, and gives the focus back. */
  end() {
    this.draft = null;
    this.form.hidden = true;
    this.note.blur(); // a browser keeps the focus in a hidden field for a moment
    if (this.before && this.before.isConnected) this.before.focus();
    this.draw();
  }

  /** Adds pins, as many as there can be; returns how many there are more than before. */
  add(pins) {
    const before = this.all.length;
    this.all = MT.pinTexts.joined(
      this.all,
      pins.map(({ time, note }) => ({ time, note: note.trim() })),
    );
    this.changed();
    return this.all.length - before;
  }

  remove(index) {
    this.all.splice(index, 1);
    this.changed();
    const next = this.list.querySelectorAll("[data-remove]")[Math.min(index, this.all.length - 1)];
    (next || document.getElementById("mt-pin-set")).focus({ preventScroll: true });
  }

  changed() {
    this.list.replaceChildren(...this.all.map((pin, index) => this.entry(pin, index)));
    for (const flag of this.flags) flag.remove();
    this.flags = this.all.map((pin, index) => this.flag(pin, index));
    this.stack.append(...this.flags);
    this.tell();
    this.draw();
    this.page.settleSoon();
  }

  entry({ time, note }, index) {
    const item = document.createElement("li");
    const go = button("link", `${time.toFixed(6)} s`, `go to pin ${index + 1}, at ${time.toFixed(6)} s`);
    go.dataset.go = index;
    const remove = button("remove", "remove", `remove pin ${index + 1}`);
    remove.dataset.remove = index;
    const text = document.createElement("span");
    text.className = "note";
    text.textContent = note ? ` ${note} ` : " ";
    item.append(go, text, remove);
    if (index > 0) {
      const distance = document.createElement("div");
      distance.className = "meta";
      const length = MT.pinTexts.distanceText(time - this.all[index - 1].time);
      distance.textContent = `${length} after pin ${index}`;
      item.append(distance);
    }
    return item;
  }

  flag({ note }, index) {
    const line = document.createElement("div");
    line.className = "pin";
    const flag = button("flag", String(index + 1), `pin ${index + 1}${note && `: ${note}`}`);
    flag.tabIndex = -1; // the list has the same by keyboard
    flag.dataset.mtPin = index;
    flag.title = note;
    flag.addEventListener("click", () => this.go(index));
    line.append(flag);
    return line;
  }

  press(pressed) {
    if (pressed && pressed.dataset.go) this.go(Number(pressed.dataset.go));
    else if (pressed && pressed.dataset.remove) this.remove(Number(pressed.dataset.remove));
  }

  /** Brings a pin to the middle of the view, and the cursor to it. */
  go(index) {
    const { timeRange, views, cursor } = this.page;
    const half = (timeRange.end - timeRange.start) / 2;
    const { time } = this.all[index];
    views.show(time - half, time + half);
    cursor.show(time);
  }

  /** Draws the lines that are in view. */
  draw() {
    if (this.line) this.line.remove();
    this.line = null;
    if (this.draft !== null) {
      this.line = document.createElement("div");
      this.line.className = "pin draft";
      this.stack.append(this.line);
    }
    if (this.line || this.flags.length) this.placeAll();
    return true;
  }

  placeAll() {
    const sections = Array.from(this.stack.querySelectorAll("[data-mt-panel]"));
    const bottom = Math.max(...sections.map((section) => section.offsetTop + section.offsetHeight));
    const canvas = sections.map((section) => section.querySelector(".canvas")).find((one) => !one.hidden);
    const top = canvas ? canvas.offsetTop : 0;
    this.flags.forEach((line, i) => this.place(line, this.all[i].time, top, bottom));
    if (this.line) this.place(this.line, this.draft, top, bottom);
  }

  place(line, time, top, bottom) {
    const { start, end } = this.page.timeRange;
    line.hidden = time < start || time > end;
    if (line.hidden) return;
    const x = this.frame.xOf(time);
    line.style.transform = `translate(${x - 1}px, ${top}px)`;
    line.style.height = `${bottom - top}px`;
    line.classList.toggle("turned", x + NEAR_END > this.frame.left + this.frame.width);
  }

  /** Says which pins the address does not hold. */
  tell() {
    const text = this.left
      ? `${this.left} of ${this.all.length} pins are not in the address, which they would make too long: save them.`
      : "";
    const element = document.getElementById("mt-pins-told");
    if (element.textContent !== text) element.textContent = text;
    document.getElementById("mt-pins-save").disabled = !this.all.length;
  }

  /** The part of the address that holds as many pins as there is room for. */
  toAddress(room) {
    const { text, left } = MT.pinTexts.toAddress(this.all, room);
    this.left = left;
    this.tell();
    return text;
  }

  /** Takes the pins of an address; returns which of its texts are none. */
  fromAddress(texts) {
    const { pins, damaged } = MT.pinTexts.fromAddress(texts, this.page.whole);
    if (pins.length) this.add(pins);
    return damaged;
  }

  save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([MT.pinTexts.toFile(this.all)], { type: "application/json" }));
    link.download = FILE;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async readChosen() {
    const [file] = this.file.files;
    if (file) await this.read(file);
    this.file.value = ""; // the same file can be chosen again
  }

  async read(file) {
    const text = file.size <= LARGEST ? await file.text().catch(() => "") : "";
    const found = MT.pinTexts.fromFile(text, this.page.whole);
    if (!found) {
      this.page.say(`${file.name} is no file of pins, or a damaged one: ignored.`);
      return;
    }
    const added = this.add(found.pins);
    const left = found.left ? ` ${found.left} are damaged, or lie outside of this trace: ignored.` : "";
    const full = this.all.length === MT.pinTexts.MOST ? ` ${FULL}` : "";
    this.page.say(`${added} pins read from ${file.name}.${left}${full}`);
  }
}

function button(name, text, label) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: name, textContent: text });
  made.setAttribute("aria-label", label);
  return made;
}

MT.pins = { Pins };
