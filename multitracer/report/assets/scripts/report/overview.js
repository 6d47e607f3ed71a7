// The strip with all of the trace: how much was sent when, and how much of it again.

const BINS = 300;

function draw(page) {
  const { doc, engine, whole } = page;
  const width = (whole[1] - whole[0]) / BINS;
  const edges = Array.from({ length: BINS + 1 }, (_, i) => whole[0] + i * width);
  const again = MT.retransmissions.SERIES;
  const drawings = { "overview sent": ["segments", ...again], "overview again": again };
  let most = 0;
  for (const [name, names] of Object.entries(drawings)) {
    const series = names.map((one) => engine.series.get(one)).filter(Boolean);
    const sums = MT.totals.binned(series, whole[0], whole[1], BINS);
    const top = Array.from(sums, (bytes) => (bytes * 8e-3) / width);
    doc.get_model_by_name(name).data = { left: edges.slice(0, -1), right: edges.slice(1), top };
    most = Math.max(most, ...top);
  }
  doc.get_model_by_name("overview rate").setv({ start: 0, end: most || 1 });
}

MT.overview = { draw };
