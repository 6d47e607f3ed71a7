// Numbers as texts, and texts as rows of a table.

/** A value with at most three decimals, its thousands grouped; nothing where there is no value. */
function format(value) {
  if (value === null || !Number.isFinite(value)) return "";
  return value.toLocaleString("en", { maximumFractionDigits: 3 });
}

/** A table row with a cell for each text. */
function tableRow(texts) {
  const row = document.createElement("tr");
  for (const text of texts) {
    const cell = document.createElement("td");
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

MT.numbers = { format, tableRow };
