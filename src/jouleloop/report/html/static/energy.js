"use strict";
// The chart at the head of the page, the folds that a narrow page closes, and the way to the point that a link names.
(() => {
  const { el } = JL;

  function follow() {
    const names = JL.named(location.hash);
    if (!names) return;
    const section = JL.sections.find(({ sweep }) => sweep.name === names[0]);
    const group = section && section.sweep.groups.find((one) => JL.label(section.sweep, one) === names[1]);
    const index = group ? group.layers.indexOf(names[2]) : -1;
    if (index >= 0) section.reveal(group, index);
  }

  // What is below the first screen is folded where a phone would have to scroll through it.
  const folds = [...document.querySelectorAll("details.fold")];
  if (window.matchMedia("(max-width: 40rem)").matches) folds.forEach((fold) => { fold.open = false; });
  const target = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (found) found.querySelectorAll(":scope > details.fold").forEach((fold) => { fold.open = true; });
    follow();
  };
  window.addEventListener("hashchange", target);

  // The energy itself, first of all: one sweep at a time.
  const place = document.getElementById("energy");
  if (place && JL.data.sweeps.length) {
    let shown = JL.data.sweeps[0];
    const title = el("p", { class: "chart-title" });
    const frame = el("div", { class: "chart", role: "group", "aria-label": "Energy against size" });
    const choice = el("fieldset", { class: "segments" }, el("legend", { class: "hidden" }, "Sweep"),
      JL.data.sweeps.map((sweep) => el("label", {}, el("input", {
        type: "radio", name: "energy-sweep", checked: sweep === shown, onchange: () => { shown = sweep; draw(); },
      }), el("span", {}, sweep.name))));
    place.append(JL.data.sweeps.length > 1 ? choice : "", title, frame);
    const chart = new JL.Chart(frame, () => ({ ...JL.traces.scatter(shown, "growth", null), height: 360 }));
    const draw = () => {
      title.textContent = JL.traces.title("growth", shown);
      chart.draw();
    };
    chart.onClick((group, index) => {
      JL.sections.find(({ sweep }) => sweep === shown).reveal(shown.groups[group], index);
      JL.link(shown, shown.groups[group], index);
    });
    JL.energy = { filtered: draw };
    draw();
  }
  target();
})();
