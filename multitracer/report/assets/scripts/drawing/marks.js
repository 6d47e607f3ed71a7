// Exact marks: the records in view, put into the source of the glyphs that draw them.

/** Fills a part's source with the records from..to-1 of its series, each of which gets its own mark. */
function fill(part, series, from, to) {
  const data = {};
  for (const name of Object.keys(part.source.data)) {
    const column = series.columns[name];
    data[name] = column && to > from ? column.slice(from, to) : [NaN];
  }
  const size = Math.max(...Object.values(data).map((column) => column.length));
  for (const name of Object.keys(data)) {
    if (data[name].length !== size) data[name] = new Array(size).fill(NaN);
  }
  part.source.data = data;
  part.isEmpty = false;
}

/** Leaves one mark nowhere, because a legend draws no mark of a source without records. */
function blank(part) {
  const data = {};
  for (const name of Object.keys(part.source.data)) data[name] = [NaN];
  part.source.data = data;
  part.isEmpty = true;
}

MT.marks = { fill, blank };
