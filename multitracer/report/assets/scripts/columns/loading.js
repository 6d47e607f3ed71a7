// The columns in the page's script elements, decoded when their group (a connection, the link) is first needed.

const PATIENCE_MS = 1000;

/** One column element's values, with the names that it carries; the element is removed to free its text. */
async function columnOf(element) {
  const { series, kind, step, column, meta, same } = element.dataset;
  const values = same ? null : await MT.decoding.decode(element.textContent.trim(), JSON.parse(meta));
  element.remove();
  return { series, kind, step: Number(step), column, same, values };
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

function elements() {
  return Array.from(document.querySelectorAll("script.mt-column"));
}

/** A function that loads a group of series by its name, each group once. */
function createLoader() {
  const groups = new Map();
  return (group) => {
    if (!groups.has(group)) {
      const wanted = elements().filter((element) => element.dataset.group === group);
      groups.set(group, Promise.all(wanted.map(columnOf)).then(shared).then(bySeries));
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
