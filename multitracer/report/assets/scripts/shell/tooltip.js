// What the mark under the pointer is, in a box that stays within the window.

const AWAY = 14; // pixels from the pointer

class Tooltip {
  constructor(page) {
    this.page = page;
    this.box = document.createElement("div");
    this.box.id = "mt-tooltip";
    this.box.hidden = true;
    document.body.append(this.box);
  }

  /** Tells of the nearest mark of a panel's figure at a place, or else whatever `lines` says. */
  point(place, event, lines) {
    const told = lines || (place ? this.linesOf(place) : []);
    this.box.hidden = !told.length;
    if (!told.length) return;
    this.box.replaceChildren(...told.map(paragraph));
    const { clientX: x, clientY: y } = event;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = x + AWAY + width <= innerWidth ? x + AWAY : Math.max(0, x - AWAY - width);
    const top = y + AWAY + height <= innerHeight ? y + AWAY : Math.max(0, y - AWAY - height);
    this.box.style.transform = `translate(${left}px, ${top}px)`;
  }

  linesOf({ figure, x, y }) {
    const { engine } = this.page;
    const panel = engine.panels.find((one) => one.figure === figure);
    const near = MT.nearest.nearest(
      engine,
      figure,
      panel.parts.map((part) => part.name),
      x,
      y,
    );
    return near ? describe(this.page.label(near.name), engine.series.get(near.name).columns, near.i) : [];
  }

  hide() {
    this.box.hidden = true;
  }
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/** A record in words. */
function describe(label, columns, i) {
  const { format } = MT.numbers;
  const value = columns.top ? `${format(columns.y[i])} to ${format(columns.top[i])}` : format(columns.y[i]);
  const lines = [`${label}: ${value}`, `at ${columns.x[i].toFixed(9)} s`];
  if (columns.record) lines.push(`record ${columns.record[i]}`);
  if (columns.trigger) lines.push(`set off by: ${columns.trigger[i]}`);
  if (columns.because) lines.push(columns.because[i]);
  return lines;
}

MT.tooltip = { Tooltip, describe };
