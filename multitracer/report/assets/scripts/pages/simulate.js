// The page of a simulation. Its figures hold all their points, and their axis is a key and not time: nothing is drawn
// again after a move, and there is no cursor to read.

const SETTLE_MS = 300;

function settleSoon(page) {
  clearTimeout(page.settling);
  page.settling = setTimeout(() => page.settle(), SETTLE_MS);
}

MT.page.start({}, async (page) => {
  page.redraw = () => settleSoon(page);
  document.getElementById("mt-readout").hidden = true;
  return async () => {};
});
