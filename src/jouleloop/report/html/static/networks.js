"use strict";
// The energy of every network's layers by level, a panel an architecture.
(() => {
  const place = document.getElementById("network-charts");
  if (!place) return;
  const { el } = JL;
  const names = [...new Set(JL.data.networks.map((entry) => entry.network))];
  JL.networkCharts = names.map((name) => {
    const entries = JL.data.networks.filter((entry) => entry.network === name);
    const visible = () => entries.filter((entry) => JL.state.architectures.has(entry.architecture) || !JL.architectures.includes(entry.architecture));
    const frame = el("div", { class: "chart", role: "group", "aria-label": `Energy of the layers of ${name} by level` });
    place.append(el("p", { class: "chart-title" }, `${name}: energy of its layers, times their number, by level and data space`), frame);
    return new JL.Chart(frame, () => {
      const layers = [...new Set(visible().flatMap((entry) => entry.layers))];
      const panels = visible().map((entry) => {
        const at = layers.map((layer) => entry.layers.indexOf(layer));
        const columns = Object.fromEntries(Object.entries(entry.columns).map(([column, values]) => [column, at.map((i) => (i < 0 ? 0 : values[i]))]));
        return { name: entry.architecture, columns };
      });
      return JL.traces.stacks(panels, layers.map(JL.plain), "layer", false);
    });
  });
})();
