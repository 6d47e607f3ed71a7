// Print: every panel becomes a picture as wide as a page of A4 when the browser prints, and is taken away afterwards.

const WIDTH = 700; // pixels: A4 upright without its margins
const HEIGHTS = { sequence: 260, frames: 230 };
const USUAL = 160;
const APART = 300; // a figure that is no panel
const AXIS = { left: 84, width: WIDTH - 104 }; // as Bokeh was told to leave beside its figures

/** The bar without its texts, which are listed below it. */
function strip(bar) {
  const made = bar.cloneNode(true);
  made.classList.add("strip");
  made.setAttribute("aria-hidden", "true");
  for (const part of made.children) part.replaceChildren();
  return made;
}

class Printing {
  /** `apart` has figures that are no panels, by the elements after which their pictures stand. */
  constructor(pictures, apart = new Map()) {
    Object.assign(this, { pictures, apart });
    this.added = [];
    addEventListener("beforeprint", () => this.begin());
    addEventListener("afterprint", () => this.end());
    matchMedia("print").addEventListener("change", ({ matches }) => (matches ? this.begin() : this.end()));
  }

  begin() {
    if (this.added.length) return;
    const made = document.createElement("div");
    made.id = "mt-printed";
    for (const section of this.pictures.sections()) made.append(this.panel(section));
    document.getElementById("mt-stack").after(made);
    this.added.push(made);
    for (const [element, figure] of this.apart) this.added.push(this.afterIt(element, figure));
    for (const bar of document.querySelectorAll(".bar")) {
      this.added.push(strip(bar));
      bar.before(this.added[this.added.length - 1]);
    }
  }

  panel(section) {
    const name = section.dataset.mtPanel;
    const made = document.createElement("figure");
    made.dataset.mtPrinted = name;
    made.append(this.pictures.of(section, WIDTH, HEIGHTS[name] || USUAL, AXIS));
    return made;
  }

  afterIt(element, figure) {
    const made = document.createElement("figure");
    made.className = "printed";
    made.append(this.pictures.ofFigure(element, figure, WIDTH, APART));
    element.after(made);
    return made;
  }

  /** Takes all away; figures that were drawn under the style sheet for print get the colours of the screen again. */
  end() {
    for (const element of this.added) element.remove();
    this.added = [];
    const { page } = this.pictures;
    MT.theme.apply(MT.theme.current(), page.models);
    page.redrawSoon();
  }
}

MT.printing = { Printing };
