// The same event in the other transfers: of each the finding of the same kind that began nearest in octets delivered.

const NOT_KNOWN = "";

/**
 * Of each other transfer the finding that is the same event as `one`, the earlier of two as near; `all` have index,
 * transfer, kind, start, and octets, which are null where they are not known. In order of the transfers.
 */
function sameEvents(all, one) {
  const found = new Map();
  if (one.octets === null) return [];
  for (const other of all) {
    if (other.kind !== one.kind || other.transfer === one.transfer || other.octets === null) continue;
    const best = found.get(other.transfer);
    if (!best || isNearer(other, best, one.octets)) found.set(other.transfer, other);
  }
  return Array.from(found.values()).sort((a, b) => a.transfer - b.transfer);
}

function isNearer(one, other, octets) {
  const by = Math.abs(one.octets - octets) - Math.abs(other.octets - octets);
  return by < 0 || (by === 0 && one.start < other.start);
}

/** What the list says of a finding; times are those of its own trace. */
function recordOf(index, item) {
  const { kind, verdict, octets, begin, finish, in: transfer } = item.dataset;
  return {
    index,
    kind,
    verdict,
    transfer: Number(transfer),
    octets: octets === NOT_KNOWN ? null : Number(octets),
    start: Number(begin),
    end: Number(finish),
    cost: item.querySelector(".cost").textContent,
  };
}

/** The findings of all transfers; beside the chosen one stands the same event in the others. */
class SameEvents extends MT.Findings {
  /** `transfers` have name, report and align_s. */
  constructor(page, transfers) {
    super(page);
    this.transfers = transfers;
    this.records = new Map(Array.from(this.items, ([index, item]) => [index, recordOf(index, item)]));
    this.chosen = null; // the finding whose likes are told of, also while one of these is shown
    this.element = document.getElementById("mt-same");
    this.element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-same]");
      if (button) this.turnTo(Number(button.dataset.same));
    });
  }

  show(index) {
    this.chosen = index;
    return super.show(index);
  }

  /** Shows one of the likes of the chosen finding, which stays chosen. */
  turnTo(index) {
    super.show(index);
  }

  /** Turns to the same event in the next transfer, after the last of them back to the chosen finding. */
  next() {
    if (this.chosen === null) {
      this.chooseShared();
      return;
    }
    const round = this.likes(this.chosen).map((one) => one.index);
    if (round.length < 2) this.page.say(this.whyNone());
    else this.turnTo(round[(round.indexOf(this.current) + 1) % round.length]);
  }

  /** Chooses the dearest finding that is also in another transfer. */
  chooseShared() {
    const shared = this.visibleRoots().find((index) => this.likes(index).length > 1);
    if (shared === undefined) this.page.say("No two transfers have a finding of the same kind.");
    else this.show(shared);
  }

  /** The finding and the same event in each other transfer, in order of the transfers after its own. */
  likes(index) {
    const one = this.records.get(index);
    const others = sameEvents(this.shown(), one);
    const after = others.filter((each) => each.transfer > one.transfer);
    return [one, ...after, ...others.filter((each) => each.transfer < one.transfer)];
  }

  /** What is known of the findings that alignment has not left out. */
  shown() {
    return Array.from(this.records.values()).filter(({ index }) => !this.items.get(index).hidden);
  }

  whyNone() {
    const { kind, octets, transfer } = this.records.get(this.chosen);
    const isElsewhere = this.shown().some((one) => one.kind === kind && one.transfer !== transfer);
    if (octets !== null && !isElsewhere) return `No other transfer that is shown has a ${kind}.`;
    const where = octets === null ? "" : " in the others";
    return `How many octets were delivered then${where} is not known: no acknowledgements were captured.`;
  }

  /** Both are brought into view: the chosen finding, and the one that is shown. */
  timesOf(item) {
    const [chosen, shown] = [super.timesOf(this.items.get(this.chosen)), super.timesOf(item)];
    return [Math.min(chosen[0], shown[0]), Math.max(chosen[1], shown[1])];
  }

  isMarked(index) {
    return index === this.current || index === this.chosen;
  }

  tell(index) {
    const likes = this.likes(this.chosen);
    const [one] = likes;
    const [heading, text] = this.element.querySelectorAll("h3, p");
    heading.textContent = one.kind;
    text.textContent = likes.length > 1 ? this.howNear(likes) : this.whyNone();
    this.element.querySelector("tbody").replaceChildren(...likes.map((each) => this.row(each, index)));
    this.element.hidden = false;
    document.getElementById("mt-chosen").textContent = "";
    MT.pane.tell();
    MT.pane.bring(this.element);
  }

  howNear([one, ...others]) {
    const missing = this.transfers.length - 1 - others.length;
    const none = missing ? ` ${missing} of the others ${missing === 1 ? "has" : "have"} none.` : "";
    const { name } = this.transfers[one.transfer];
    return `In ${name}, and in each other the one nearest to it in octets delivered.${none}`;
  }

  row(one, shown) {
    const { name, align_s: aligned, report } = this.transfers[one.transfer];
    const start = (one.start - aligned.start).toFixed(2);
    const octets = one.octets === null ? "?" : MT.numbers.format(one.octets);
    const row = MT.numbers.tableRow(["", start, octets, one.cost.replace(/^cost /, ""), ""]);
    if (one.index === shown) row.setAttribute("aria-current", "true");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "link", textContent: name, title: name });
    button.dataset.same = one.index;
    const verdict = one.verdict === "confirmed" ? "" : ` (${one.verdict})`;
    row.firstChild.append(button, verdict);
    if (report) row.lastChild.append(linkTo(report, one, name));
    return row;
  }

  /** The findings of the list's first level that alignment has not left out. */
  visibleRoots() {
    const items = Array.from(this.tree ? this.tree.children : []).filter((item) => !item.hidden);
    return items.map((item) => Number(item.dataset.mtFinding));
  }

  step(by) {
    this.roots = this.visibleRoots();
    super.step(by);
  }

  clear() {
    this.chosen = null;
    this.element.hidden = true;
    super.clear();
  }
}

/** A link to the time of a finding in its transfer's report. */
function linkTo(report, { start, end }, name) {
  const room = Math.max((end - start) / 2, 0.05);
  const link = document.createElement("a");
  link.href = `${report.split("/").map(encodeURIComponent).join("/")}#t=${start - room},${end + room}`;
  link.textContent = "open";
  link.setAttribute("aria-label", `open it in the report of ${name}`);
  return link;
}

MT.sameEvent = { sameEvents, SameEvents };
