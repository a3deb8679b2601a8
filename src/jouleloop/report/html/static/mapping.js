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

  // A level of a mapping: its name, what it keeps, and its energy by data space.
  function levelOf(group, index, k) {
    const level = group.levels[k];
    const at = group.accesses[index];
    const rows = at >= 0 ? JL.data.accesses[at][k] || [] : [];
    const energies = {};
    for (const space of JL.data.spaces) {
      const column = group.columns[`${level}_${space.toLowerCase()}_pj`];
      if (column && column[index] !== null) energies[space] = column[index];
    }
    return { level, rows, energies, sum: Object.values(energies).reduce((a, b) => a + b, 0) };
  }

  function levelBox(group, index, k, text, depth, total) {
    const { level, rows, energies, sum } = levelOf(group, index, k);
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

  // The drawn mapping, as `Result.plot("mapping")` draws it: levels as rows, with tiles, loops and share of the energy;
  // between two rows what is unrolled over instances.
  const PICTURE = { width: 960, tiles: 150, loops: 560, energy: 855, row: 54, box: 32, top: 26 };

  function picture(group, index) {
    if (!group.loops[index]) return null;
    const at = PICTURE;
    const texts = group.loops[index].split("|");
    const total = group.columns.total_pj ? group.columns.total_pj[index] : NaN;
    const height = at.top + at.row * (texts.length + 1);
    const drawing = el("svg", { viewBox: `0 0 ${at.width} ${height}`, role: "img", "aria-label": `Mapping of ${group.layers[index]} on ${group.architecture}, drawn` });
    const write = (x, y, text, more) => drawing.append(el("text", { x, y, ...more }, text));
    const row = (y, name, text, share) => {
      drawing.append(el("rect", { class: "frame", x: 0.5, y, width: at.width - 1, height: at.box }),
        el("rect", { class: "share", x: at.energy, y: y + 5, width: (at.width - at.energy - 4) * (share || 0), height: at.box - 10 }));
      write(8, y + 21, name, { class: "name" });
      if (text) write(at.loops, y + 21, text, { style: `font-size: ${Math.min(12, (at.energy - at.loops) / (0.56 * text.length))}px` });
      write(at.energy + 6, y + 21, percent(share));
    };
    for (const [x, text] of [[8, "level"], [at.tiles, "tile [words]"], [at.loops, "loops"], [at.energy + 6, "energy"]]) write(x, 16, text, { class: "name" });
    const named = (found) => found.map((loop) => `${loop.dimension}:${number(loop.bound)}${loop.axis ? ` on ${loop.axis}` : ""}`).join(" ");
    texts.forEach((text, k) => {
      const { level, rows, sum } = levelOf(group, index, k);
      const y = at.top + k * at.row;
      const found = loops(text).filter((loop) => loop.dimension);
      const serial = found.filter((loop) => !loop.axis);
      const width = (at.loops - at.tiles) / Math.max(3, rows.length) - 8;
      rows.forEach(([position, tile], i) => {
        const space = JL.data.spaces[position];
        const x = at.tiles + (rows.length > 3 ? i : position % 3) * (width + 8);
        drawing.append(el("rect", { class: `tile ${tone(space)}`, x, y: y + 1, width, height: at.box - 2 }));
        write(x + width / 2, y + 21, `${space} ${number(tile)}`, { class: "middle" });
      });
      row(y, level, serial.length ? `for ${named(serial)}` : "no loop", sum / total);
      const across = found.filter((loop) => loop.axis);
      if (across.length) write(at.loops, y + at.box + 16, `in parallel ${named(across)}`, { class: "across" });
    });
    const compute = group.columns.compute_pj ? group.columns.compute_pj[index] : null;
    row(at.top + texts.length * at.row, "multiply and accumulate", "", compute === null ? NaN : compute / total);
    return el("div", { class: "scroll picture", tabindex: 0, role: "region", "aria-label": `Mapping of ${group.layers[index]} drawn` }, drawing);
  }

  // The mapping as Timeloop reads it: what each level keeps, its spatial and temporal factors, innermost loops first.
  function yaml(group, index) {
    const at = group.accesses[index];
    const dimensions = group.shapes ? group.shapes[group.shape[index]] : group.dimensions;
    if (at < 0 || !dimensions.length) return null;
    const separator = dimensions.every((name) => name.length === 1) ? "" : ",";
    const lines = ["mapping:"];
    const directive = (level, kind, found) => {
      const inner = found.slice().reverse();
      const used = inner.map((loop) => loop.dimension);
      const free = dimensions.filter((name) => !used.includes(name));
      const bound = Object.fromEntries(inner.map((loop) => [loop.dimension, loop.bound]));
      const factors = dimensions.map((name) => `${name}=${bound[name] || 1}`).join(" ");
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

  const proven = (group, index) => ["optimum", group.optimal ? (group.optimal[index] ? "proven" : "not proven") : "–"];

  // Draw the mapping of a point; `response` is what the head of the panel states.
  function draw(sweep, group, index, response) {
    const unit = JL.data.responses[response].unit;
    const value = JL.values(group, response)[index];
    const off = JL.deviation(value, JL.fitted(group, response)[index]);
    return panelOf(sweep, group, index, [
      [sweep.variable, number(group.x[index], 8)],
      [JL.data.responses[response].label, quantity(value, unit)],
      ["from the fit", percent(off)],
      ["operations", group.macs ? number(group.macs[index]) : "–"],
      proven(group, index),
    ]);
  }

  // Draw the mapping of a network's layer: all numbers are of one run of it.
  function drawLayer(network, group, index) {
    const total = group.columns.total_pj ? group.columns.total_pj[index] : null;
    return panelOf(network, group, index, [
      ["energy of a run", quantity(total, "pJ")],
      ["per operation", quantity(total === null ? null : total / group.macs[index], "pJ")],
      ["operations", number(group.macs[index])],
      ["cycles", number(group.columns.cycles ? group.columns.cycles[index] : null)],
      ["runs", number(group.counts[index])],
      proven(group, index),
    ]);
  }

  function panelOf(sweep, group, index, facts) {
    const total = group.columns.total_pj ? group.columns.total_pj[index] : NaN;
    const panel = el("div", { class: "nest" },
      el("h4", {}, group.layers[index]),
      el("p", { class: "note" }, `on ${JL.label(sweep, group)} · `, el("a", { href: JL.address(sweep, group, index) }, "link to this point")),
      el("dl", { class: "facts" }, facts.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)))));
    const law = group.law && group.law[index];
    if (law) panel.append(el("p", { class: "note law" }, `law ${law}: data energy = ${(group.formulas[law] || "–").replace(/^E = /, "")}`));
    if (!group.loops[index]) {
      panel.append(el("p", { class: "note" }, group.status && group.status[index] !== "ok" ? `No mapping: ${group.status[index]}.` : "The table holds no mapping of this layer."));
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

  JL.mapping = { draw, drawLayer, picture, short, yaml };
})();
