// The findings on the time axis: a slice for each, in the lane of its layer, with its name where there is room.

const THIN = 3; // pixels: a slice is never narrower
const NAMED = 46; // pixels from which a slice shows its name
const BESIDE = 0.1; // of a finding's time that it shares at most with one that it is drawn beside

/**
 * Which of some slices of one lane are drawn: of those that take the same pixels only one. `slices` have left and right
 * in pixels; the longest are drawn first, so that short ones lie on top.
 */
function drawn(slices) {
  const taken = new Set();
  const pixel = (x) => Math.round(x / THIN);
  return slices
    .sort((a, b) => b.right - b.left - (a.right - a.left))
    .filter(({ left, right, isCurrent }) => {
      const place = right - left > THIN ? `${pixel(left)} ${pixel(right)}` : pixel(left);
      const isFree = !taken.has(place);
      taken.add(place);
      return isFree || isCurrent;
    });
}

/**
 * Which findings of a lane, each with start and end, lie over a longer one: the longest are placed first, and one that
 * shares more than `BESIDE` of its time with a neighbour among these lies over it.
 */
function nested(findings) {
  const over = new Set();
  const [placed, starts] = [[], []]; // sorted by start
  for (const one of findings.slice().sort((a, b) => b.end - b.start - (a.end - a.start))) {
    const next = MT.search.lowerBound(starts, one.start);
    if ([placed[next - 1], placed[next]].some((other) => other && sharedTime(one, other) > BESIDE)) {
      over.add(one);
      continue;
    }
    placed.splice(next, 0, one);
    starts.splice(next, 0, one.start);
  }
  return over;
}

/** The share of a finding's time in which another lasts too; of one without length, 1 within the other. */
function sharedTime(one, other) {
  const shared = Math.min(one.end, other.end) - Math.max(one.start, other.start);
  if (shared < 0) return 0;
  return one.end > one.start ? shared / (one.end - one.start) : 1;
}

class Lanes {
  constructor(page, frame, findings) {
    Object.assign(this, { page, frame, findings });
    this.lanes = new Map();
    for (const lane of document.querySelectorAll("[data-lane]")) {
      if (lane.dataset.lane !== "time")
        this.lanes.set(lane.dataset.lane, { track: lane.querySelector(".track"), all: [] });
    }
    this.read();
    page.engine.otherDrawings.push(() => this.draw());
  }

  /** Makes the slices of all findings that are listed, with the times that these have now. */
  read() {
    for (const lane of this.lanes.values()) lane.all = [];
    for (const [index, item] of this.findings.items) if (!item.hidden) this.add(index, item);
    for (const lane of this.lanes.values()) this.nest(lane);
  }

  /** The lane of a finding is that of its transfer, where there are several, else that of its layer. */
  add(index, item) {
    const { start, end, layer, kind, verdict, in: transfer } = item.dataset;
    const lane = this.lanes.get(transfer ?? layer);
    if (!lane) return;
    const slice = document.createElement("button");
    Object.assign(slice, { type: "button", tabIndex: -1, className: `slice ${verdict}`, textContent: kind });
    slice.title = `${kind}, ${item.querySelector(".cost").textContent}`;
    slice.dataset.mtFinding = index;
    slice.dataset.finding = index;
    slice.style.setProperty("--colour", item.querySelector(".row").style.getPropertyValue("--colour"));
    lane.all.push({ index, start: Number(start), end: Number(end), slice });
  }

  /** Slices over a longer one are low, so that its name is seen above them. */
  nest({ track, all }) {
    const over = nested(all);
    for (const one of all) one.isNested = over.has(one);
    for (const { slice, isNested } of all) slice.classList.toggle("nested", isNested);
    track.classList.toggle("deep", over.size > 0);
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
        return { ...one, left, right, isCurrent: this.findings.isMarked(one.index) };
      });
    const shown = drawn(inView);
    for (const { slice, left, right, isCurrent, isNested } of shown) {
      const width = Math.max(THIN, right - left);
      slice.style.transform = `translateX(${Math.min(left, last - THIN)}px)`;
      slice.style.width = `${width}px`;
      slice.classList.toggle("named", width >= NAMED && !isNested);
      slice.classList.toggle("current", isCurrent);
    }
    track.replaceChildren(...shown.map((one) => one.slice));
  }
}

MT.lanes = { THIN, NAMED, drawn, nested, Lanes };
