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
  const frame = new MT.frame.Frame(page.engine, stackElement, page.doc.get_model_by_name("overview"));
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
  const segmentFrames = new MT.segmentFrames.SegmentFrames(page, (time, trigger) =>
    MT.retransmissions.explaining(findings.about(connections.shown, connections.way), time, trigger),
  );
  const journeys = new MT.journeys.Journeys(page, frame);
  const clear = () => {
    segmentFrames.clear();
    selection.clear();
    findings.clear();
    timeParts.clear();
    MT.pane.tell();
  };
  const changed = (isOtherConnection) => {
    frame.makeRoom(legend.reserve());
    page.stack.begin();
    frame.measure();
    segmentFrames.map = connections.map;
    journeys.take(connections.map);
    segmentFrames.clear();
    if (isOtherConnection) selection.clear();
    else selection.recount();
    MT.pane.tell();
  };
  const fated = () => {
    selection.recount();
    segmentFrames.tellAgain();
  };
  const stepTo = (by) => {
    const found = MT.retransmissions.show(page, segmentFrames.chosen, by);
    if (!found) {
      page.say(connections.shown ? "TCP sent nothing again in this direction." : "No TCP connection was recorded.");
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
  const known = await page.load("connections");
  const connections = new MT.connections.Connections(page, known, { changed, fated, chosen: clear });
  page.connections = connections;
  findings.bringUp = (connection, way) => connections.bringUp(connection, way);
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
    D: () => connections.turn(),
    "/": () => search.focus(),
    Escape: clear,
  });
  findings.onShow = () => page.redrawSoon();
  page.engine.otherDrawings.push(() => legend.refresh());
  MT.frame.redrawResized(page, frame);
  return async () => {
    const { number, way } = connections.asked;
    connections.directions.tell(number, way); // the titles' lines take room from the panels
    await connections.show(number, way);
  };
});
