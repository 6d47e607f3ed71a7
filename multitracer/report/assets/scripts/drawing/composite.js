// Paints the series of a panel that have too many records in view into its picture, and takes the picture away.

function show(panel, pixels, width, height, x, y, dw, dh) {
  const NDArray = Bokeh.require("core/util/ndarray").Uint32NDArray;
  const image = new NDArray(pixels, [height, width]);
  panel.image.data_source.data = { image: [image], x: [x], y: [y], dw: [dw], dh: [dh] };
}

/** Paints `windows`, each a part with its series and the records from..to-1, at the resolution of the screen. */
function paint(panel, windows, timeRange) {
  const { figure } = panel;
  const { start, end } = timeRange;
  const [low, high] = [figure.y_range.start, figure.y_range.end];
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round((figure.inner_width || 1000) * ratio));
  const height = Math.max(1, Math.round((figure.inner_height || 200) * ratio));
  const picture = new MT.Picture(width, height, start, end, low, high);
  const strips = windows.filter(({ series }) => series.kind === "event").length;
  const strip = picture.stripOf(strips);
  let below = 0;
  for (const { part, series, from, to } of windows) {
    const rgb = MT.panels.colourOf(part);
    const ink = MT.colours.pixel(rgb, 255);
    if (series.kind === "line") picture.line(series, from, to, ink);
    else if (series.kind === "beam") picture.beams(series, from, to, ink);
    else if (series.kind === "event") below = picture.events(series, from, to, ink, below, strip);
    else picture.cloud(series, from, to, rgb);
  }
  show(panel, picture.pixels, width, height, start, low, end - start, high - low);
  Object.assign(panel, { isPainted: true, hasStrips: strips > 0 });
}

/** One transparent pixel in place of the picture. */
function clear(panel, timeRange) {
  show(panel, new Uint32Array(1), 1, 1, timeRange.start, panel.figure.y_range.start, 1e-9, 1e-9);
  Object.assign(panel, { isPainted: false, hasStrips: false });
}

MT.composite = { paint, clear };
