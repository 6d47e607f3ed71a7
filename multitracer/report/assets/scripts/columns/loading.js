// The columns in the page's script elements, decoded when their group (a connection, the link) is first needed.

const PATIENCE_MS = 1000;

/** The columns of one pack (see column_packs.py), with what each is; the element is removed to free its text. */
async function columnsOf(element) {
  const octets = await MT.decoding.unpack(element.textContent.trim());
  element.remove();
  let begin = 4 + new DataView(octets.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(octets.subarray(4, begin)));
  const next = (size, meta) => MT.decoding.decode(octets.subarray(begin, (begin += size)), meta);
  const times = next(...head.times);
  return head.columns.map(([series, kind, step, column, size, meta, same]) => {
    const values = same ? null : next(size, meta);
    return { series, kind, step, column, same, values: meta.at ? values.map((place) => times[place]) : values };
  });
}

/** Gives each column that has the same values as another one these. */
function shared(columns) {
  const own = new Map(columns.map(({ series, column, values }) => [`${series} ${column}`, values]));
  return columns.map((one) => (one.same ? { ...one, values: own.get(one.same) } : one));
}

/** Columns by series: what MT.series.create takes, by the series' name. */
function bySeries(columns) {
  const found = new Map();
  for (const one of columns) {
    if (!found.has(one.series)) found.set(one.series, { kind: one.kind, step: one.step, columns: {} });
    found.get(one.series).columns[one.column] = one.values;
  }
  return found;
}

/** The elements of each group. */
function elementsByGroup() {
  const found = new Map();
  for (const element of document.querySelectorAll("script.mt-columns")) {
    const { group } = element.dataset;
    if (found.has(group)) found.get(group).push(element);
    else found.set(group, [element]);
  }
  return found;
}

/** A function that loads a group of series by its name, each group once. */
function createLoader() {
  const elements = elementsByGroup();
  const groups = new Map();
  return (group) => {
    if (!groups.has(group)) {
      const packs = Promise.all((elements.get(group) ?? []).map(columnsOf));
      groups.set(
        group,
        packs.then((all) => bySeries(shared(all.flat()))),
      );
    }
    return groups.get(group);
  };
}

/** Resolves once the browser has nothing else to do, so that what is drawn is on the screen; within a second or so. */
function whenIdle() {
  const wait = window.requestIdleCallback || ((done) => setTimeout(done, PATIENCE_MS / 4));
  return new Promise((done) => wait(done, { timeout: PATIENCE_MS }));
}

MT.loading = { createLoader, whenIdle };
