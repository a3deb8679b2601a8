"use strict";
// Filters, the theme, and the table of verdicts that follows them.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");

  // Storage may be closed to a page from the file system.
  const kept = {
    get() { try { return localStorage.getItem("jouleloop-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("jouleloop-theme", value); } catch { /* not kept then */ } },
  };

  function theme(name) {
    root.dataset.theme = name;
    button.setAttribute("aria-pressed", String(name === "dark"));
    swatches();
    JL.redraw();
  }

  function swatches() {
    for (const swatch of document.querySelectorAll(".swatch")) swatch.style.background = JL.colour(swatch.dataset.architecture);
  }

  button.addEventListener("click", () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    kept.set(next);
    theme(next);
  });
  preferred.addEventListener("change", (event) => kept.get() || theme(event.matches ? "dark" : "light"));

  const all = document.getElementById("all-responses");
  const response = document.getElementById("response");

  // Rows of the chosen response and architectures, or of all responses.
  function verdictRows() {
    if (!all) return; // networks alone: nothing is tested
    let shown = 0;
    const rows = [...document.querySelectorAll("#verdict-table tbody tr")];
    for (const row of rows) {
      const wanted = (all.checked || row.dataset.response === JL.state.response) && JL.state.architectures.has(row.dataset.architecture);
      row.hidden = !wanted;
      shown += wanted;
    }
    document.getElementById("verdict-count").textContent = `${shown} of ${rows.length} tests shown`;
  }

  function filtered() {
    verdictRows();
    JL.sections.forEach((section) => section.filtered());
    if (JL.energy) JL.energy.filtered();
  }

  if (all) {
    all.addEventListener("change", verdictRows);
    response.addEventListener("change", () => {
      JL.state.response = response.value;
      filtered();
    });
  }
  for (const box of document.querySelectorAll("#filters input[name=architecture]")) {
    box.addEventListener("change", () => {
      if (box.checked) JL.state.architectures.add(box.value);
      else JL.state.architectures.delete(box.value);
      filtered();
    });
  }
  const filters = document.getElementById("filters");
  if (filters) filters.addEventListener("submit", (event) => event.preventDefault());
  for (const node of document.querySelectorAll("[data-needs-script]")) node.classList.add("ready");
  theme(kept.get() || (preferred.matches ? "dark" : "light"));
  verdictRows();
})();
