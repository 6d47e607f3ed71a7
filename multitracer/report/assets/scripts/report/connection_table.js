// The table of all connections, a row for each end: sorted, searched, and made a part at a time as it is asked for.

const PART = 100; // rows that are made at a time
const SEARCHED = ["number", "sender", "limits", "findings"];

/** A number with its thousands grouped; a question mark where the recordings do not tell it. */
function numberCell(value, digits) {
  const cell = document.createElement("td");
  cell.className = "n";
  if (Number.isFinite(value)) {
    cell.textContent = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return cell;
  }
  const unknown = document.createElement("span");
  Object.assign(unknown, { className: "null", title: "the recordings do not tell", textContent: "?" });
  cell.append(unknown);
  return cell;
}

function textCell(text, name) {
  const cell = document.createElement("td");
  cell.className = name;
  cell.textContent = text;
  return cell;
}

class ConnectionTable {
  /** `columns` are those of connection_table.py; `canShow` tells whether a connection is drawn, `open` opens it. */
  constructor(columns, { canShow, open }) {
    Object.assign(this, { columns, canShow, open });
    this.table = document.getElementById("mt-connections");
    this.asked = document.getElementById("mt-connections-asked");
    this.both = document.getElementById("mt-connections-both");
    this.told = document.getElementById("mt-connections-shown");
    this.more = document.getElementById("mt-connections-more");
    this.heads = Array.from(this.table.tHead.rows[0].cells, ({ dataset }) => dataset);
    this.order = Array.from(columns.number, (_, row) => row);
    this.current = null; // the connection and the way that are shown
    MT.sorting.makeSortable(this.table, (column, direction) => this.sort(this.heads[column].column, direction));
    this.asked?.addEventListener("input", () => this.fill());
    this.both?.addEventListener("change", () => this.fill());
    this.more.addEventListener("click", () => this.add());
    this.fill();
  }

  /** The connections with their ends in words, in the order of the page's data. */
  get all() {
    const { number, end, sender } = this.columns;
    const found = [];
    for (let row = 0; row < number.length; row += 2) {
      const [client, server] = end[row] ? [sender[row + 1], sender[row]] : [sender[row], sender[row + 1]];
      found.push({ number: String(number[row]), text: `${number[row]}: ${client} to ${server}` });
    }
    return found;
  }

  sort(name, direction) {
    const values = this.columns[name];
    const key = (row) => (values[row] === "" || Number.isNaN(values[row]) ? null : values[row]);
    this.order.sort((a, b) => MT.sorting.compare(key(a), key(b), direction) || a - b);
    this.fill();
  }

  /** The rows to show: with all words that are searched for, and of ends that sent data unless both are asked for. */
  chosen() {
    const words = (this.asked?.value ?? "").trim().toLowerCase().split(/\s+/).filter(Boolean);
    const isAsked = (row) => !words.length || MT.lookup.hasAll(this.textOf(row), words);
    const isWanted = (row) => !this.both || this.both.checked || this.columns.unique[row] > 0;
    return this.order.filter((row) => isWanted(row) && isAsked(row));
  }

  /** What is searched: the row, and the address of the other end, which is in the row beside it. */
  textOf(row) {
    return [...SEARCHED.map((name) => this.columns[name][row]), this.columns.sender[row ^ 1]].join(" ");
  }

  /** Begins the table anew. */
  fill() {
    this.found = this.chosen();
    this.table.tBodies[0].replaceChildren();
    this.add();
  }

  /** Makes the next rows. */
  add() {
    const body = this.table.tBodies[0];
    const next = this.found.slice(body.rows.length, body.rows.length + PART);
    body.append(...next.map((row) => this.rowOf(row)));
    const left = this.found.length - body.rows.length;
    this.more.hidden = left === 0;
    this.more.textContent = `show ${Math.min(PART, left)} more of ${MT.numbers.format(left)}`;
    this.tell(body.rows.length);
    this.mark();
  }

  /** Says how many ends are found, and how many of them are in the table. */
  tell(made) {
    if (!this.told) return;
    const { format } = MT.numbers;
    const part = made < this.found.length ? `; the first ${made} are listed` : "";
    this.told.textContent = `${format(this.found.length)} of ${format(this.order.length)} ends${part}`;
  }

  /** When a connection begins and ends, in seconds. */
  timesOf(number) {
    const row = this.columns.number.indexOf(Number(number));
    return [this.columns.start[row], this.columns.start[row] + this.columns.duration[row]];
  }

  rowOf(row) {
    const made = document.createElement("tr");
    Object.assign(made.dataset, { connection: this.columns.number[row], way: row % 2 });
    const cellOf = ({ column, digits }) => {
      const value = this.columns[column][row];
      if (column === "number") return this.numberOf(row, value);
      return digits === undefined ? textCell(value, column) : numberCell(value, Number(digits));
    };
    made.append(...this.heads.map(cellOf));
    return made;
  }

  /** The cell of a connection's number: a button that opens it, where it is drawn. */
  numberOf(row, number) {
    const cell = document.createElement("td");
    if (!this.canShow(String(number))) {
      cell.textContent = number;
      return cell;
    }
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "link", textContent: number, title: "show it in the panels" });
    button.addEventListener("click", () => this.open(String(number), row % 2));
    cell.append(button);
    return cell;
  }

  /** Marks the rows of the connection that is shown, and of its way. */
  show(number, way) {
    this.current = { number, way: String(way) };
    this.mark();
  }

  /** Marks the rows that are shown, of those that are made. */
  mark() {
    for (const { dataset, classList } of this.table.tBodies[0].rows)
      classList.toggle(
        "current",
        this.current !== null && dataset.connection === this.current.number && dataset.way === this.current.way,
      );
  }
}

MT.connectionTable = { PART, ConnectionTable };
