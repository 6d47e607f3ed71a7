// The report's own parts: findings, causes, connections, a selection, and what belongs together in two layers.

const LABELS = {
  segments: "sent",
  acks: "acknowledged",
  window: "advertised window",
  sacks: "SACK",
  arrived: "arrived",
  fate_dropped: "dropped in the host",
  fate_flushed: "flushed by the link",
  fate_lost: "lost",
  fate_repeated: "delivered, repeated by the link",
  fate_unknown: "fate unknown",
  again_no: "resent, needed",
  again_yes: "resent, needless",
  again_unknown: "resent, undecided",
  cwnd: "congestion window, bytes",
  ssthresh: "slow start threshold, bytes",
  outstanding: "outstanding, bytes",
  rtt: "round trip, ms",
  queue: "wait for the first frame, ms",
  srtt: "smoothed round trip, ms",
  rto: "retransmission timer, ms",
  frames_new: "frame sent",
  frames_again: "frame repeated",
  frames_acked: "frames acknowledged",
  frames_missing: "frame reported missing",
  frames_polls: "poll",
  goodput: "goodput, kbit/s",
};

/** The group of columns that is drawn first: the chosen connection's, else the first in the page. */
function firstGroup(select) {
  if (select) return select.value;
  const others = MT.loading.elements().filter((element) => element.dataset.group !== "accounting");
  return others.length ? others[0].dataset.group : "link";
}

async function columnsOf(page, group, series) {
  const loaded = (await page.load(group)).get(series);
  return loaded ? loaded.columns : null;
}

/** What the page does with the pointer over the panels. */
function gestures(page, frame, stretches, segmentFrames, selection) {
  const tooltip = new MT.tooltip.Tooltip(page);
  const point = (time, event) => {
    page.cursor.show(time);
    const isOverTime = event.target.closest('[data-lane="time"]');
    tooltip.point(MT.gestures.placeOf(page.engine, event), event, isOverTime ? stretches.describe(time) : null);
  };
  return new MT.gestures.Gestures(page, frame, document.getElementById("mt-stack"), {
    point,
    leave: () => tooltip.hide(),
    select: (start, end) => selection.select(start, end),
    choose: (place) => (place ? segmentFrames.choose(place) : undefined),
  });
}

MT.page.start(LABELS, async (page) => {
  const stackElement = document.getElementById("mt-stack");
  const frame = new MT.frame.Frame(page.engine, stackElement);
  page.stack = new MT.stack.Stack(page, stackElement);
  const legend = new MT.legend.Legend(page.engine);
  page.cursor = new MT.crosshair.Crosshair(page, frame, legend);
  const findings = new MT.Findings(page);
  const lanes = new MT.lanes.Lanes(page, frame, findings);
  MT.copying.listen(document.body);
  const causes = JSON.parse(document.getElementById("mt-causes").textContent);
  const stretches = new MT.stretches.Stretches(page, frame, causes, await columnsOf(page, "accounting", "accounting"));
  new MT.printing.Printing(new MT.pictures.Pictures(page, frame, { lanes, stretches }));
  const selection = new MT.Selection(page);
  const link = await page.load("link");
  const segmentFrames = new MT.segmentFrames.SegmentFrames(
    page,
    await columnsOf(page, "link", "carried"),
    (time, trigger) => MT.retransmissions.explaining(findings.about(connections.shown), time, trigger),
  );
  new MT.journeys.Journeys(page, frame, await columnsOf(page, "link", "carried"));
  const clear = () => {
    segmentFrames.clear();
    selection.clear();
    findings.clear();
    timeParts.clear();
    document.getElementById("mt-nothing").hidden = false;
  };
  const stepTo = (by) => {
    const found = MT.retransmissions.show(page, segmentFrames.chosen, by);
    if (!found) {
      page.say("TCP sent nothing again on this connection.");
      return;
    }
    segmentFrames.chooseSegment(found);
    page.cursor.show(found.x);
  };
  const explain = () => {
    const button = document.querySelector("#mt-chosen [data-finding]");
    if (button) button.click();
    else page.say("No retransmission is chosen that a finding explains.");
  };
  const pointer = gestures(page, frame, stretches, segmentFrames, selection);
  document.getElementById("mt-select").addEventListener("click", () => pointer.setSelecting(!pointer.isSelecting));
  const connections = new MT.connections.Connections(page, clear);
  findings.connect = (number) => connections.showOther(number);
  const timeParts = new MT.timeParts.TimeParts(page, findings, segmentFrames);
  page.pins = new MT.pins.Pins(page, frame);
  const hits = new MT.hits.Hits(page, { findings, segmentFrames, connections, selection });
  const search = new MT.searchField.SearchField(hits);
  document.getElementById("mt-selection-clear").addEventListener("click", clear);
  Object.assign(page.keys, {
    n: () => findings.step(1),
    p: () => findings.step(-1),
    r: () => stepTo(1),
    R: () => stepTo(-1),
    e: explain,
    c: () => timeParts.next(),
    m: () => selection.select(page.timeRange.start, page.timeRange.end),
    k: () => page.pins.begin(),
    "/": () => search.focus(),
    Escape: clear,
  });
  findings.onShow = () => page.redrawSoon();
  page.engine.otherDrawings.push(() => legend.refresh());
  const resized = () => {
    frame.measure();
    page.redrawSoon();
  };
  for (const { properties } of page.engine.figures) {
    properties.inner_width.change.connect(resized);
    properties.inner_height.change.connect(resized);
  }
  new ResizeObserver(resized).observe(stackElement);
  MT.connections.put(page.engine, link);
  const group = firstGroup(connections.select);
  return async () => {
    page.stack.fit();
    await connections.show(group);
    resized();
  };
});
