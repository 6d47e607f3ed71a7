// The table of findings: a click on a row, or n and p, brings the finding's interval into view.

class Findings {
  constructor(page) {
    this.page = page;
    this.rows = Array.from(document.querySelectorAll("#mt-findings tbody tr"));
    this.current = -1;
    this.rows.forEach((row, i) => {
      row.addEventListener("click", (event) => {
        if (!event.target.closest("details")) this.show(i);
      });
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target === row) this.show(i);
      });
    });
  }

  show(place) {
    this.current = (place + this.rows.length) % this.rows.length;
    this.rows.forEach((row, i) => row.classList.toggle("current", i === this.current));
    const row = this.rows[this.current];
    const start = Number(row.dataset.start);
    const end = Number(row.dataset.end);
    const { whole, views } = this.page;
    const room = Math.max((end - start) * 0.5, (whole[1] - whole[0]) * 0.01, 0.05);
    views.show(start - room, end + room);
  }

  /** The finding so many rows further, scrolled to in its table. */
  step(by) {
    if (!this.rows.length) return;
    this.show(this.current < 0 && by < 0 ? this.rows.length - 1 : this.current + by);
    this.rows[this.current].scrollIntoView({ block: "nearest" });
  }
}

MT.Findings = Findings;
