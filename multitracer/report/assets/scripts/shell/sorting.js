// Tables that a click on a heading sorts.

const order = new Intl.Collator("en", { numeric: true });

/** What a row is sorted by: the cell's number where it has one, else its text; null for an empty or unknown one. */
function keyOf(row, column) {
  const cell = row.cells[column];
  if (!cell || cell.colSpan > 1) return null; // a cell before it takes its place, or one for several columns
  if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
  const text = cell.textContent.trim();
  if (!cell.classList.contains("n")) return text || null;
  const number = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? null : number;
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

/**
 * Makes every heading a button that sorts by its column, and in the other direction the next time; `sortBy` is given
 * the column's place and 1 or -1, and by default sorts the table's rows.
 */
function makeSortable(table, sortBy = (column, direction) => sort(table, column, direction)) {
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
      sortBy(column, direction);
    });
  });
}

MT.sorting = { compare, makeSortable };
