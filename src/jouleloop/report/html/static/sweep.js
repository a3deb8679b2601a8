"use strict";
// One sweep: its views, the chart with the keyboard, the mapping of the selected point, and the table of points.
(() => {
  const { el } = JL;

  const SETTLED_MS = 3000;

  // Keep an element in the middle of the window while charts above it are drawn and grow, until the reader moves.
  function hold(element) {
    const place = () => element.scrollIntoView({ block: "center", behavior: "instant" });
    const growth = new ResizeObserver(place);
    const stop = () => growth.disconnect();
    growth.observe(document.body);
    for (const moved of ["wheel", "touchstart", "pointerdown", "keydown"]) window.addEventListener(moved, stop, { once: true, passive: true });
    setTimeout(stop, SETTLED_MS);
    place();
  }

  JL.hold = hold;

  class SweepSection {
    constructor(article, sweep) {
      this.sweep = sweep;
      this.view = "growth";
      this.share = false;
      this.selected = null;
      this.title = el("p", { class: "chart-title", id: `${article.id}-chart` });
      this.constant = el("p", { class: "note constant" });
      this.controls = el("div", { class: "views" });
      this.frame = el("div", {
        class: "chart", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-labelledby": `${article.id}-chart`,
        "aria-describedby": `${article.id}-keys`, onkeydown: (event) => this.key(event),
      });
      this.panel = el("div", { class: "panel", role: "region", "aria-label": `Mapping of the selected point of ${sweep.name}` });
      this.points = new JL.PointTable(sweep, (group, index, jump) => this.select(group, index, jump));
      const hint = el("p", { class: "note keys", id: `${article.id}-keys` },
        "Click a point to see its mapping, or focus the chart and use the arrow keys: left and right by size, up and down by architecture.");
      this.fold = article.querySelector("details.fold");
      this.drawn = el("div");
      article.querySelector(".mount").append(this.controls,
        el("div", { class: "columns" }, el("div", { class: "left" }, this.title, this.constant, this.frame, hint), this.panel), this.drawn, this.points.details);
      this.chart = new JL.Chart(this.frame, () => this.describe());
      this.chart.onClick((group, index) => this.select(sweep.groups[group], index));
      this.filtered();
    }

    describe() {
      return this.view === "breakdown" ? JL.traces.breakdown(this.sweep, this.share) : JL.traces.scatter(this.sweep, this.view, this.selected);
    }

    // What the filters allow has changed: views, selection, chart and table follow.
    filtered() {
      const views = JL.traces.views(this.sweep);
      if (!views.some((view) => view.id === this.view)) this.view = "growth";
      const group = `${this.frame.getAttribute("aria-labelledby")}-view`;
      this.controls.replaceChildren(el("fieldset", { class: "segments" }, el("legend", { class: "hidden" }, `View of ${this.sweep.name}`),
        views.map((view) => el("label", {}, el("input", {
          type: "radio", name: group, value: view.id, checked: view.id === this.view, onchange: () => this.change(view.id),
        }), el("span", {}, view.label)))));
      this.shares = el("label", { class: "check", hidden: this.view !== "breakdown" }, el("input", {
        type: "checkbox", checked: this.share, onchange: (event) => { this.share = event.target.checked; this.chart.draw(); },
      }), " as shares of the total");
      this.controls.append(this.shares, el("button", { type: "button", class: "quiet csv", onclick: () => this.points.download() }, "CSV"));
      const groups = JL.traces.having(this.sweep);
      if (!this.selected || !groups.includes(this.selected.group)) {
        this.selected = groups.length && groups[0].x.length ? { group: groups[0], index: groups[0].x.length - 1 } : null;
      }
      this.update();
      this.points.refresh();
    }

    change(view) {
      this.view = view;
      this.shares.hidden = view !== "breakdown";
      this.update();
    }

    update() {
      const missing = JL.visible(this.sweep).filter((group) => !group.responses[JL.state.response]);
      const names = missing.map((group) => JL.label(this.sweep, group)).join(", ");
      this.title.textContent = JL.traces.title(this.view, this.sweep) + (names && this.view !== "breakdown" ? ` (${names} has no such level)` : "");
      this.constant.textContent = JL.traces.constant(this.sweep, this.view);
      this.constant.hidden = !this.constant.textContent;
      this.chart.draw();
      this.panel.replaceChildren(this.selected
        ? JL.mapping.draw(this.sweep, this.selected.group, this.selected.index, JL.state.response)
        : el("p", { class: "note" }, "No point is shown: choose an architecture, or another response."));
      this.drawn.replaceChildren(...[this.selected && JL.mapping.picture(this.selected.group, this.selected.index)].filter(Boolean));
    }

    select(group, index, jump) {
      this.selected = { group, index };
      this.update();
      const { label, unit } = JL.data.responses[JL.state.response];
      const value = JL.values(group, JL.state.response)[index];
      JL.announce(`${group.layers[index]} on ${JL.label(this.sweep, group)}: ${label} ${JL.quantity(value, unit)}`);
      if (jump) this.panel.scrollIntoView({ block: "nearest" });
      JL.link(this.sweep, group, index);
    }

    // Show a point that a link names.
    reveal(group, index) {
      this.fold.open = true;
      this.selected = { group, index };
      this.update();
      this.chart.show();
      hold(this.frame);
    }

    key(event) {
      const groups = JL.traces.having(this.sweep);
      if (!this.selected || event.altKey || event.ctrlKey || event.metaKey || event.target !== this.frame) return;
      const { group, index } = this.selected;
      const last = group.x.length - 1;
      const along = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: last, PageDown: index + 10, PageUp: index - 10 }[event.key];
      const across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (along === undefined && across === undefined) return;
      event.preventDefault();
      if (along !== undefined) return this.select(group, Math.min(Math.max(along, 0), last));
      const next = groups[(groups.indexOf(group) + across + groups.length) % groups.length];
      const nearest = next.x.reduce((best, x, i) => (Math.abs(x - group.x[index]) < Math.abs(next.x[best] - group.x[index]) ? i : best), 0);
      return this.select(next, nearest);
    }
  }

  JL.sections = [...document.querySelectorAll("article.sweep")].map((article) => new SweepSection(article, JL.data.sweeps[Number(article.dataset.sweep)]));
})();
