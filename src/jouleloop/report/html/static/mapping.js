"use strict";
// The mapping of one point, drawn as its loop nest on the storage hierarchy.
(() => {
  const { el, quantity, number, percent } = JL;
  const LOOP = /^([A-Za-z]+?)(\d+)([XY]?)$/;

  const loops = (text) =>
    text.split(" ").filter(Boolean).map((token) => {
      const match = LOOP.exec(token);
      return match ? { dimension: match[1], bound: Number(match[2]), axis: match[3] } : { text: token };
    });

  // The mapping in a few lines, for a tooltip.
  function short(group, index) {
    const parts = (group.loops[index] || "").split("|");
    if (!group.loops[index]) return [];
    return group.levels.map((level, k) => `${level}: ${parts[k] || "–"}`);
  }

  function loopLine(loop, depth) {
    const style = `--depth: ${depth}`;
    if (loop.text) return el("div", { class: "loop", style }, loop.text);
    const range = `${loop.dimension.toLowerCase()} in 0 … ${number(loop.bound - 1)}`;
    return loop.axis
      ? el("div", { class: "loop spatial", style }, el("b", {}, "parallel for "), range, el("span", {}, ` across ${loop.axis}`))
      : el("div", { class: "loop", style }, el("b", {}, "for "), range);
  }

  // Energy of one level: a bar of its share, split by data space.
  // A shape's own data spaces are coloured in their order like those of a convolution.
  const tone = (space) => ["weights", "inputs", "outputs"][JL.data.spaces.indexOf(space) % 3];

  function energyBar(parts, total) {
    const bar = el("div", { class: "energy-bar", "aria-hidden": "true" });
    for (const [space, value] of parts) {
      if (value > 0) bar.append(el("span", { class: `part ${tone(space)}`, style: `width: ${(100 * value) / total}%` }));
    }
    return bar;
  }

  function accessTable(level, rows, energies) {
    const headings = ["", "tile", "reads", "fills", "updates", "energy"];
    const body = rows.map(([position, tile, , reads, fills, updates]) => {
      const space = JL.data.spaces[position];
      const cells = [tile, reads, fills, updates].map((value) => el("td", { title: `${number(value)} words` }, quantity(value, "", 3)));
      return el("tr", {}, el("th", { scope: "row" }, el("span", { class: `key ${tone(space)}`, "aria-hidden": "true" }), space),
        cells, el("td", {}, quantity(energies[space] ?? null, "pJ", 3)));
    });
    return el("table", { class: "accesses" },
      el("caption", { class: "hidden" }, `Words at ${level} per instance`),
      el("thead", {}, el("tr", {}, headings.map((text) => (text ? el("th", { scope: "col" }, text) : el("td", {}))))),
      el("tbody", {}, body));
  }

  function levelBox(group, index, k, text, depth, total) {
    const level = group.levels[k];
    const at = group.accesses[index];
    const rows = at >= 0 ? JL.data.accesses[at][k] || [] : [];
    const energies = {};
    for (const space of JL.data.spaces) {
      const column = group.columns[`${level}_${space.toLowerCase()}_pj`];
      if (column && column[index] !== null) energies[space] = column[index];
    }
    const sum = Object.values(energies).reduce((a, b) => a + b, 0);
    const instances = Math.max(...rows.map((row) => row[2]), 1);
    const box = el("li", { class: "level" });
    box.append(el("div", { class: "level-head" },
      el("strong", {}, level),
      rows.length ? el("span", { class: "instances" }, instances > 1 ? `${number(instances)} instances` : "1 instance") : null,
      el("span", { class: "level-energy" }, sum > 0 ? `${quantity(sum, "pJ", 3)} · ${percent(sum / total)}` : "")));
    box.append(energyBar(Object.entries(energies), total));
    if (rows.length) box.append(accessTable(level, rows, energies));
    const own = loops(text);
    own.forEach((loop, i) => box.append(loopLine(loop, depth + i)));
    if (!own.length) box.append(el("div", { class: "loop empty", style: `--depth: ${depth}` }, "no loop"));
    return { box, used: own.length };
  }

  // The mapping as Timeloop reads it: what each level keeps, its spatial and temporal factors, innermost loops first.
  function yaml(group, index) {
    const at = group.accesses[index];
    if (at < 0 || !group.dimensions.length) return null;
    const separator = group.dimensions.every((name) => name.length === 1) ? "" : ",";
    const lines = ["mapping:"];
    const directive = (level, kind, found) => {
      const inner = found.slice().reverse();
      const used = inner.map((loop) => loop.dimension);
      const free = group.dimensions.filter((name) => !used.includes(name));
      const bound = Object.fromEntries(inner.map((loop) => [loop.dimension, loop.bound]));
      const factors = group.dimensions.map((name) => `${name}=${bound[name] || 1}`).join(" ");
      const split = kind === "spatial" ? `, split: ${free.length + inner.filter((loop) => loop.axis === "X").length}` : "";
      lines.push(`- {target: ${level}, type: ${kind}, factors: ${factors}, permutation: "${[...free, ...used].join(separator)}"${split}}`);
    };
    group.loops[index].split("|").forEach((text, k) => {
      const kept = (JL.data.accesses[at][k] || []).map(([position]) => JL.data.spaces[position]);
      const passed = JL.data.spaces.filter((name) => !kept.includes(name));
      lines.push(`- {target: ${group.levels[k]}, type: bypass, keep: [${kept.join(", ")}], bypass: [${passed.join(", ")}]}`);
      const found = loops(text);
      if (found.some((loop) => loop.axis)) directive(group.levels[k], "spatial", found.filter((loop) => loop.axis));
      directive(group.levels[k], "temporal", found.filter((loop) => !loop.axis));
    });
    return `${lines.join("\n")}\n`;
  }

  // The whole nest in Timeloop's own format, with a button that copies it.
  function written(group, index) {
    const text = yaml(group, index);
    if (!text) return null;
    const area = el("pre", { class: "yaml", tabindex: 0 }, text);
    const copy = el("button", { type: "button", onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        JL.announce("copied");
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(area); // pages from the file system may not write to the clipboard
        copy.textContent = "Selected: press Ctrl-C";
      }
    } }, "Copy as Timeloop YAML");
    return el("details", { class: "written" }, el("summary", {}, "In Timeloop’s format"), copy, area);
  }

  // Draw the mapping of a point; `response` is what the head of the panel states.
  function draw(sweep, group, index, response) {
    const unit = JL.data.responses[response].unit;
    const value = JL.values(group, response)[index];
    const off = JL.deviation(value, JL.fitted(group, response)[index]);
    const total = group.columns.total_pj ? group.columns.total_pj[index] : NaN;
    const facts = [
      [sweep.variable, number(group.x[index], 8)],
      [JL.data.responses[response].label, quantity(value, unit)],
      ["from the fit", percent(off)],
      ["operations", group.macs ? number(group.macs[index]) : "–"],
      ["optimum", group.optimal ? (group.optimal[index] ? "proven" : "not proven") : "–"],
    ];
    const panel = el("div", { class: "nest" },
      el("h4", {}, group.layers[index]),
      el("p", { class: "note" }, `on ${JL.label(sweep, group)} · `, el("a", { href: JL.address(sweep, group, index) }, "link to this point")),
      el("dl", { class: "facts" }, facts.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)))));
    const law = group.law && group.law[index];
    if (law) panel.append(el("p", { class: "note law" }, `law ${law}: data energy = ${(group.formulas[law] || "–").replace(/^E = /, "")}`));
    if (!group.loops[index]) {
      panel.append(el("p", { class: "note" }, "The table holds no mapping of this layer."));
      return panel;
    }
    const list = el("ol", { class: "levels" });
    let depth = 0;
    group.loops[index].split("|").forEach((text, k) => {
      const { box, used } = levelBox(group, index, k, text, depth, total);
      depth += used;
      list.append(box);
    });
    const compute = group.columns.compute_pj ? group.columns.compute_pj[index] : null;
    list.append(el("li", { class: "level compute" }, el("div", { class: "level-head" }, el("strong", {}, "multiply and accumulate"),
      el("span", { class: "level-energy" }, compute === null ? "" : `${quantity(compute, "pJ", 3)} · ${percent(compute / total)}`)),
      energyBar([["compute", compute || 0]], total)));
    const known = group.accesses[index] >= 0;
    panel.append(el("p", { class: "note" }, known
      ? "Outermost level first. Tiles and accesses in words, per instance; energy over all instances."
      : "Outermost level first. Tile sizes and accesses of this point are not embedded."), list);
    const text = written(group, index);
    if (text) panel.append(text);
    return panel;
  }

  JL.mapping = { draw, short, yaml };
})();
