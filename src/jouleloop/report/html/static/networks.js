"use strict";
// One network: the energy of its layers by level, a panel an architecture, and the mapping of the layer that is chosen.
(() => {
  const place = document.getElementById("network-charts");
  if (!place) return;
  const { el } = JL;

  class NetworkSection {
    constructor(name, id) {
      this.sweep = { name, groups: JL.data.networks.filter((entry) => entry.network === name) };
      this.layers = [...new Set(this.sweep.groups.flatMap((group) => group.layers))];
      this.frame = el("div", { class: "chart", role: "group", "aria-label": `Energy of the layers of ${name} by level` });
      this.panel = el("div", { class: "panel", role: "region", "aria-label": `Mapping of the selected layer of ${name}` });
      this.drawn = el("div");
      this.choice = el("select", { name: `${id}-layer`, onchange: () => this.choose() });
      this.on = el("select", { name: `${id}-architecture`, onchange: () => this.choose() });
      place.append(el("article", { class: "sweep network", id },
        el("h3", {}, name),
        el("p", { class: "chart-title" }, `${name}: energy of its layers, times their number, by level and data space`),
        el("div", { class: "columns" },
          el("div", { class: "left" }, this.frame, el("p", { class: "note keys" }, "Click a bar, or choose a layer, to see its mapping.")),
          el("div", {}, el("div", { class: "views" }, el("label", {}, "Layer ", this.choice), el("label", {}, "Architecture ", this.on)), this.panel)),
        this.drawn));
      this.chart = new JL.Chart(this.frame, () => this.describe());
      this.chart.onClick((panel, position) => {
        const group = this.visible()[panel];
        const index = group.layers.indexOf(this.layers[position]);
        if (index >= 0) this.select(group, index);
      });
      this.filtered();
    }

    visible() {
      return this.sweep.groups.filter((group) => JL.state.architectures.has(group.architecture) || !JL.architectures.includes(group.architecture));
    }

    describe() {
      const panels = this.visible().map((group) => {
        const at = this.layers.map((layer) => group.layers.indexOf(layer));
        const columns = Object.fromEntries(Object.entries(group.columns).map(([column, values]) =>
          [column, at.map((i) => (i < 0 ? 0 : (values[i] || 0) * group.counts[i]))]));
        return { name: JL.label(this.sweep, group), columns };
      });
      const drawn = JL.traces.stacks(panels, this.layers.map(JL.plain), "layer", false);
      for (const trace of drawn.traces) trace.meta = Number(trace.xaxis.slice(1) || 1) - 1;
      return drawn;
    }

    // What the filters allow has changed. At first the layer that takes most is shown.
    filtered() {
      const groups = this.visible();
      if (!this.selected || !groups.includes(this.selected.group)) {
        const cost = groups.length ? groups[0].layers.map((_, i) => ((groups[0].columns.total_pj || [])[i] || 0) * groups[0].counts[i]) : [];
        this.selected = groups.length ? { group: groups[0], index: cost.indexOf(Math.max(...cost)) } : null;
      }
      this.chart.draw();
      this.update();
    }

    update() {
      const groups = this.visible();
      const { group, index } = this.selected || {};
      this.on.replaceChildren(...groups.map((one, i) => el("option", { value: i, selected: one === group }, JL.label(this.sweep, one))));
      this.choice.replaceChildren(...(group ? group.layers.map((layer, i) => el("option", { value: i, selected: i === index }, layer)) : []));
      this.panel.replaceChildren(group ? JL.mapping.drawLayer(this.sweep, group, index) : el("p", { class: "note" }, "No architecture is chosen."));
      this.drawn.replaceChildren(...[group && JL.mapping.picture(group, index)].filter(Boolean));
    }

    choose() {
      const group = this.visible()[Number(this.on.value)];
      const layer = this.selected.group.layers[Number(this.choice.value)];
      this.select(group, Math.max(0, group.layers.indexOf(layer)));
    }

    select(group, index) {
      this.selected = { group, index };
      this.update();
      JL.announce(`${group.layers[index]} on ${JL.label(this.sweep, group)}`);
      JL.link(this.sweep, group, index);
    }

    // Show a layer that a link names.
    reveal(group, index) {
      this.selected = { group, index };
      this.update();
      this.chart.show();
      JL.hold(this.frame);
    }
  }

  const names = [...new Set(JL.data.networks.map((entry) => entry.network))];
  JL.sections.push(...names.map((name, i) => new NetworkSection(name, `network-${i}`)));
})();
