"use strict";
// The table that says what a sweep's chart shows: one row a point, sortable, a page at a time.
(() => {
  const { el, quantity, number, percent } = JL;
  const PAGE = 25;

  class PointTable {
    constructor(sweep, select) {
      this.sweep = sweep;
      this.select = select;
      this.page = 0;
      this.order = null;
      this.status = el("span", { class: "note", role: "status" });
      this.frame = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Points of ${sweep.name}` });
      this.pager = el("div", { class: "pager" },
        el("button", { type: "button", onclick: () => this.turn(-1) }, "Previous"),
        el("button", { type: "button", onclick: () => this.turn(1) }, "Next"), this.status);
      this.details = el("details", { class: "points", ontoggle: () => this.details.open && this.fill() },
        el("summary", {}, "Points as a table"), this.frame, this.pager);
    }

    // Columns of the table: a heading, what it is sorted by, and what it shows.
    columns() {
      const response = JL.state.response;
      const { label, unit } = JL.data.responses[response];
      const value = ({ group, i }) => JL.values(group, response)[i];
      const fit = ({ group, i }) => JL.fitted(group, response)[i];
      const off = (row) => JL.deviation(value(row), fit(row));
      const rate = (row) => (row.group.macs && value(row) !== null ? value(row) / row.group.macs[row.i] : null);
      return [
        { name: "Layer", key: ({ group, i }) => group.layers[i] },
        { name: "Architecture", key: ({ group }) => JL.label(this.sweep, group) },
        { name: this.sweep.variable, key: ({ group, i }) => group.x[i], text: (v) => number(v, 8) },
        { name: label, key: value, text: (v) => quantity(v, unit, 5) },
        { name: "Fitted", key: fit, text: (v) => quantity(v, unit, 5) },
        { name: "Deviation", key: off, text: percent },
        { name: "Per operation", key: rate, text: (v) => quantity(v, unit) },
        { name: "Mapping", key: ({ group, i }) => JL.mapping.short(group, i).join("; ") },
      ];
    }

    rows() {
      return JL.traces.having(this.sweep).flatMap((group) => group.x.map((_, i) => ({ group, i })));
    }

    refresh() {
      this.order = null;
      this.page = 0;
      if (this.details.open) this.fill();
    }

    // Every point of the chart as a file: sizes, values in the table's units, mappings.
    download() {
      const columns = this.columns();
      const quoted = (value) => (typeof value === "number" ? String(value) : `"${String(value ?? "").replace(/"/g, '""')}"`);
      const { label, unit } = JL.data.responses[JL.state.response];
      const heads = columns.map(({ name }) => quoted(name === label && unit ? `${label} [${unit}]` : name));
      const lines = this.rows().map((row) => columns.map(({ key }) => (key(row) === null ? "" : quoted(key(row)))).join(","));
      const file = URL.createObjectURL(new Blob([[heads.join(","), ...lines].join("\n"), "\n"], { type: "text/csv" }));
      el("a", { href: file, download: `${this.sweep.name}-${JL.state.response}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(file), 10000);
    }

    turn(step) {
      if (!this.sorted) return; // not opened yet
      const last = Math.ceil(this.sorted.length / PAGE) - 1;
      this.page = Math.min(Math.max(this.page + step, 0), Math.max(last, 0));
      this.body();
    }

    fill() {
      this.specs = this.columns();
      this.sorted = this.rows();
      const headings = this.specs.map(({ name }) => el("th", { scope: "col", "aria-sort": "none" }, el("button", { type: "button" }, name)));
      this.table = el("table", { class: "point-table" },
        el("caption", {}, `Every point that the chart of ${this.sweep.name} shows`),
        el("thead", {}, el("tr", {}, headings, el("th", { scope: "col" }, el("span", { class: "hidden" }, "Show")))), el("tbody"));
      JL.headings(this.table, (column, sign) => {
        const keyed = this.sorted.map((row) => [this.specs[column].key(row), row]);
        keyed.sort((a, b) => JL.compare(a[0], b[0], sign));
        this.sorted = keyed.map((entry) => entry[1]);
        this.page = 0;
        this.body();
      });
      this.frame.replaceChildren(this.table);
      this.body();
    }

    body() {
      const from = this.page * PAGE;
      const shown = this.sorted.slice(from, from + PAGE);
      this.table.tBodies[0].replaceChildren(...shown.map((row) => {
        const cells = this.specs.map(({ key, text }, k) => {
          const value = key(row);
          return el(k ? "td" : "th", { scope: k ? null : "row", class: text ? "number" : k === 7 ? "mapping" : null }, text ? text(value) : value);
        });
        const label = `Show the mapping of ${row.group.layers[row.i]} on ${row.group.architecture}`;
        return el("tr", {}, cells, el("td", {}, el("button", { type: "button", "aria-label": label, onclick: () => this.select(row.group, row.i, true) }, "Show")));
      }));
      this.status.textContent = this.sorted.length
        ? `${from + 1} to ${from + shown.length} of ${this.sorted.length} points`
        : "No point has this response on the chosen architectures.";
      const [previous, next] = this.pager.querySelectorAll("button");
      previous.disabled = this.page === 0;
      next.disabled = from + PAGE >= this.sorted.length;
    }
  }

  JL.PointTable = PointTable;
})();
