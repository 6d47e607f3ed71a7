// The findings on the time axis: a slice for each, in the lane of its layer, with its name where there is room.

const THIN = 3; // pixels: a slice is never narrower
const NAMED = 46; // pixels from which a slice shows its name

/**
 * Which of some slices of one lane are drawn: not those that would lie within the pixels of one that is drawn.
 * `slices` have left and right in pixels; the longest are drawn first, so that short ones lie on top.
 */
function drawn(slices) {
  const taken = new Set();
  return slices
    .sort((a, b) => b.right - b.left - (a.right - a.left))
    .filter(({ left, right, isCurrent }) => {
      if (right - left > THIN || isCurrent) return true;
      const pixel = Math.round(left / THIN);
      const isFree = !taken.has(pixel);
      taken.add(pixel);
      return isFree;
    });
}

class Lanes {
  constructor(page, frame, findings) {
    Object.assign(this, { page, frame, findings });
    this.lanes = new Map();
    for (const lane of document.querySelectorAll("[data-lane]")) {
      if (lane.dataset.lane !== "time")
        this.lanes.set(lane.dataset.lane, { track: lane.querySelector(".track"), all: [] });
    }
    for (const [index, item] of findings.items) this.add(index, item.dataset);
    page.engine.otherDrawings.push(() => this.draw());
  }

  add(index, { start, end, layer, kind, verdict }) {
    const lane = this.lanes.get(layer);
    if (!lane) return;
    const slice = document.createElement("button");
    Object.assign(slice, { type: "button", tabIndex: -1, className: `slice ${verdict}`, textContent: kind });
    slice.dataset.mtFinding = index;
    slice.dataset.finding = index;
    slice.style.setProperty(
      "--colour",
      getComputedStyle(this.findings.items.get(index).querySelector(".row")).getPropertyValue("--colour"),
    );
    lane.all.push({ index, start: Number(start), end: Number(end), slice });
  }

  draw() {
    for (const lane of this.lanes.values()) this.drawLane(lane);
    return true;
  }

  drawLane({ track, all }) {
    const { start, end } = this.page.timeRange;
    const first = this.frame.left;
    const last = first + this.frame.width;
    const inView = all
      .filter((one) => one.end >= start && one.start <= end)
      .map((one) => {
        const left = Math.max(first, this.frame.xOf(one.start));
        const right = Math.min(last, this.frame.xOf(one.end));
        return { ...one, left, right, isCurrent: one.index === this.findings.current };
      });
    const shown = drawn(inView);
    for (const { slice, left, right, isCurrent } of shown) {
      const width = Math.max(THIN, right - left);
      slice.style.transform = `translateX(${Math.min(left, last - THIN)}px)`;
      slice.style.width = `${width}px`;
      slice.classList.toggle("named", width >= NAMED);
      slice.classList.toggle("current", isCurrent);
    }
    track.replaceChildren(...shown.map((one) => one.slice));
  }
}

MT.lanes = { drawn, Lanes };
