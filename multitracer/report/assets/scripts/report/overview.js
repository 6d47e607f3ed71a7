// The strip with all of the trace: how much was sent when, and how much of it again.

const BINS = 300;
const USUAL = 0.99; // of the parts with data, this share lies below the usual top
const ROOM = 1.1; // times the usual top is the end of the axis
const CAP = 0.88; // of the axis: from here to its end the bars that reach beyond it are marked

/** The end of the y axis: all of it where no bar stands far above 99 % of them, else just above those. */
function axisEnd(tops) {
  const some = tops.filter((top) => top > 0).sort((a, b) => a - b);
  if (!some.length) return 1;
  const usual = some[Math.ceil(USUAL * some.length) - 1] * ROOM;
  return Math.min(usual, some[some.length - 1]);
}

function draw(page) {
  const { doc, engine, whole } = page;
  const width = (whole[1] - whole[0]) / BINS;
  const edges = Array.from({ length: BINS + 1 }, (_, i) => whole[0] + i * width);
  const [left, right, bottom] = [edges.slice(0, -1), edges.slice(1), new Array(BINS).fill(0)];
  const again = MT.retransmissions.SERIES;
  const rates = (names) => {
    const series = names.map((one) => engine.series.get(one)).filter(Boolean);
    return Array.from(MT.totals.binned(series, whole[0], whole[1], BINS), (bytes) => (bytes * 8e-3) / width);
  };
  const sent = rates(["segments", ...again]);
  const end = axisEnd(sent);
  doc.get_model_by_name("overview sent").data = { left, right, bottom, top: sent };
  doc.get_model_by_name("overview again").data = { left, right, bottom, top: rates(again) };
  const above = left.map((_, i) => i).filter((i) => sent[i] > end);
  doc.get_model_by_name("overview spikes").data = {
    left: above.map((i) => left[i]),
    right: above.map((i) => right[i]),
    bottom: above.map(() => CAP * end),
    top: above.map(() => end),
  };
  doc.get_model_by_name("overview rate").setv({ start: 0, end });
}

MT.overview = { axisEnd, draw };
