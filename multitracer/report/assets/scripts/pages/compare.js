// The comparison's own parts: the bars of each transfer's time, and all transfers on one axis with their findings.

const transfers = JSON.parse(document.getElementById("mt-laid").textContent);

/** The texts for names of series. */
function labels() {
  const own = transfers.flatMap(({ name }, i) => [
    [`acks ${i}`, `${name}, acknowledged`],
    [`goodput ${i}`, `${name}, goodput`],
  ]);
  return Object.fromEntries(own);
}

/** What the page does with the pointer over the panels. */
function listenToPointer(page, frame, tooltip) {
  const point = (time, event) => {
    page.cursor.show(time);
    tooltip.point(MT.gestures.placeOf(page.engine, event), event, null);
  };
  return new MT.gestures.Gestures(page, frame, frame.stack, { point, leave: () => tooltip.hide() });
}

MT.page.start(labels(), async (page) => {
  const frame = new MT.frame.Frame(page.engine, document.getElementById("mt-stack"), null);
  page.stack = new MT.stack.Stack(page, frame.stack);
  const legend = new MT.legend.Legend(page.engine);
  page.cursor = new MT.crosshair.Crosshair(page, frame, legend);
  const findings = new MT.sameEvent.SameEvents(page, transfers);
  const select = document.getElementById("mt-align");
  page.alignment = new MT.alignment.Alignment(page, transfers, await page.load("all"), findings, select);
  const lanes = new MT.lanes.Lanes(page, frame, findings);
  new MT.printing.Printing(new MT.pictures.Pictures(page, frame, { lanes }), MT.campaign.figuresOf(page));
  const bars = new MT.bars.Bars(page, findings);
  const clear = () => {
    findings.clear();
    bars.clear();
    document.getElementById("mt-chosen").textContent = "";
    MT.pane.tell();
  };
  const tooltip = new MT.tooltip.Tooltip(page);
  listenToPointer(page, frame, tooltip);
  MT.campaign.start(page, tooltip);
  for (const table of document.querySelectorAll("#mt-transfers, #mt-groups")) MT.sorting.makeSortable(table);
  Object.assign(page.keys, {
    n: () => findings.step(1),
    p: () => findings.step(-1),
    x: () => findings.next(),
    Escape: clear,
  });
  findings.onShow = () => page.redrawSoon();
  page.engine.otherDrawings.push(() => legend.refresh());
  select?.addEventListener("change", () => {
    clear();
    page.alignment.atChosen();
    lanes.read();
    page.views.showAll();
    page.redraw();
  });
  MT.frame.redrawResized(page, frame);
  return async () => {
    frame.makeRoom(legend.reserve());
    page.stack.begin();
    frame.measure();
    if (!MT.address.parse(location.hash).view) page.views.showAll();
    page.redraw();
  };
});
