// The table of statements: a click on a heading sorts it, the lists above it choose rows.

const order = new Intl.Collator("en", { numeric: true });

/** What a row is sorted by: the cell's number where it has one, else its text; null for an empty cell. */
function keyOf(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
  return cell.textContent.trim() || null;
}

/** Compares two keys; empty ones come last in either direction. */
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * order.compare(String(a), String(b));
}

function sort(table, column, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  rows.sort((a, b) => compare(keyOf(a, column), keyOf(b, column), direction));
  body.append(...rows);
}

/** Makes every heading a button that sorts by its column, and in the other direction the next time. */
function makeSortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      sort(table, column, direction);
    });
  });
}

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

MT.statements = { makeSortable, makeFilters };
