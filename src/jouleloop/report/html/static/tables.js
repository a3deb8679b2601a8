"use strict";
// Sorting of the tables that stand in the page, by a click or key on a heading.
(() => {
  const key = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.sort;
    if (given !== undefined) return given === "" || given === "None" ? null : Number(given);
    return cell.textContent.trim().toLowerCase();
  };

  // Compare two keys; missing ones come last in either direction.
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  }

  // Make every heading a switch: ascending, then descending; `sort` gets the column and the direction.
  function headings(table, sort) {
    const cells = [...table.tHead.rows[0].cells];
    cells.forEach((cell, column) => {
      const button = cell.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const up = cell.getAttribute("aria-sort") !== "ascending";
        cells.forEach((other) => other.querySelector("button") && other.setAttribute("aria-sort", "none"));
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(column, up ? 1 : -1);
        JL.announce(`Sorted by ${button.textContent.trim()}, ${up ? "ascending" : "descending"}`);
      });
    });
  }

  JL.compare = compare;
  JL.headings = headings;
  for (const table of document.querySelectorAll("table.sortable")) {
    headings(table, (column, sign) => {
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [key(row, column), row]);
      rows.sort((a, b) => compare(a[0], b[0], sign));
      body.append(...rows.map((entry) => entry[1]));
    });
  }
})();
