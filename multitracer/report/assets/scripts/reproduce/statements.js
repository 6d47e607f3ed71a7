// The table of statements: the lists above it choose rows.

/** Shows the rows that the lists choose; `changed` is called with what they choose. */
function makeFilters(table, lists, shown, changed) {
  const apply = () => {
    const chosen = Object.fromEntries(lists.map((list) => [list.dataset.filter, list.value]));
    let count = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = Object.entries(chosen).some(([name, value]) => value && row.dataset[name] !== value);
      if (!row.hidden) count += 1;
    }
    shown.textContent = `${count} of ${table.tBodies[0].rows.length}`;
    changed(chosen);
  };
  lists.forEach((list) => list.addEventListener("change", apply));
  apply();
}

MT.statements = { makeFilters };
