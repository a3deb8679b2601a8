"use strict";
// What each view of a sweep draws: traces, axes and legend, from the visible groups and the chosen response.
(() => {
  const { css, plain, quantity, number, percent } = JL;
  const MOST_DRAWN = 6000;
  const MOST_STACKS = 48;
  const dram = (columns) => Object.keys(columns).filter((name) => name.startsWith("dram_words_"));
  const PATTERNS = { weights: "", inputs: "/", outputs: "\\" };

  const VIEWS = [
    { id: "growth", label: "Growth" },
    { id: "residuals", label: "Deviation from the fit" },
    { id: "permac", label: "Per operation" },
    { id: "breakdown", label: "Where it goes" },
    { id: "bound", label: "Against the bound", bound: "lower" },
    { id: "cycles", label: "Cycles", columns: ["cycles"] },
    { id: "utilization", label: "Utilization", columns: ["utilization"] },
    { id: "edp", label: "Energy × delay", columns: ["total_pj", "cycles"] },
    { id: "roofline", label: "Roofline", columns: ["cycles", "utilization"], dram: true },
    { id: "other", label: "Against the other run", other: true },
  ];

  // The views that a sweep's data allow under the chosen response.
  const views = (sweep) => VIEWS.filter((view) => JL.visible(sweep).some((group) => {
    const response = group.responses[JL.state.response] || { bounds: {} };
    if (view.bound) return response.bounds[view.bound];
    if (view.other) return group.other && group.other[JL.state.response];
    if (view.dram && !dram(group.columns).length) return false;
    return (view.columns || []).every((name) => group.columns[name]);
  }));

  const having = (sweep) => JL.visible(sweep).filter((group) => group.responses[JL.state.response]);

  function title(view, sweep) {
    const label = JL.data.responses[JL.state.response].label;
    return {
      cycles: `cycles against ${sweep.variable}`,
      utilization: `share of the multipliers in use against ${sweep.variable}`,
      edp: `total energy times cycles against ${sweep.variable}`,
      roofline: "operations per cycle against operations per word of DRAM",
      other: `${label} over that of the other run against ${sweep.variable}`,
      growth: `${label} against ${sweep.variable}`,
      residuals: `${label}: deviation from the fitted growth against ${sweep.variable}`,
      permac: `${label} per multiply-accumulate against ${sweep.variable}`,
      breakdown: `energy by level and data space against ${sweep.variable}`,
      bound: `${label} over its lower bound against ${sweep.variable}`,
    }[view];
  }

  const product = (a, b) => (a === null || b === null ? null : a * b);
  const ratio = (a, b) => (a === null || !b ? null : a / b);

  // The values that a view puts on its level axis: sizes, or operations per word of DRAM.
  function widths(view, group) {
    if (view !== "roofline") return group.x;
    return group.x.map((_, i) => ratio(group.macs[i], dram(group.columns).reduce((sum, name) => sum + group.columns[name][i], 0)));
  }

  // Most operations in a cycle: all multipliers in use.
  const peak = (group) =>
    Math.max(...group.x.map((_, i) => ratio(group.macs[i], group.columns.cycles[i] * group.columns.utilization[i]) || 0));

  // The roof of an architecture over the span of its points: the slope of its DRAM's bandwidth up to all multipliers in use.
  function roof(group) {
    const place = widths("roofline", group).filter((value) => value > 0);
    const top = peak(group);
    const from = Math.min(...place) / 2;
    const to = 2 * Math.max(...place);
    if (!group.bandwidth) return { x: [from, to], y: [top, top], top };
    const knee = top / group.bandwidth;
    const start = Math.min(from, knee / 2);
    return { x: [start, knee, Math.max(to, 2 * knee)], y: [start * group.bandwidth, top, top], top };
  }

  // A sentence on the groups whose view is one value for every layer; empty where there is none.
  function constant(sweep, view) {
    if (view === "breakdown" || view === "roofline" || view === "residuals") return "";
    const response = JL.state.response;
    const { unit } = JL.data.responses[response];
    const shown = (value) => (view === "utilization" ? percent(value) : view === "growth" || view === "permac" ? quantity(value, unit) : number(value));
    return having(sweep).filter((group) => group.x.length > 2).map((group) => {
      const all = heights(view, group, response);
      const same = all.every((value) => value !== null && Math.abs(value - all[0]) <= 1e-6 * Math.abs(all[0]));
      return same ? `On ${JL.label(sweep, group)} it is ${shown(all[0])} for every layer.` : "";
    }).filter(Boolean).join(" ");
  }

  // The values that a view puts on its upright axis.
  function heights(view, group, response) {
    const column = group.columns;
    if (view === "cycles" || view === "utilization") return column[view] || group.x.map(() => null);
    if (view === "edp") return group.x.map((_, i) => product(column.total_pj[i], column.cycles[i]));
    if (view === "roofline") return group.x.map((_, i) => ratio(group.macs[i], column.cycles[i]));
    if (view === "other") return JL.values(group, response).map((value, i) => ratio(value, (group.other[response] || [])[i]));
    const measured = JL.values(group, response);
    if (view === "residuals") {
      const fit = JL.fitted(group, response);
      return measured.map((value, i) => JL.deviation(value, fit[i]));
    }
    if (view === "permac") return measured.map((value, i) => (value === null || !group.macs ? null : value / group.macs[i]));
    if (view === "bound") {
      const bound = group.responses[response].bounds.lower;
      return measured.map((value, i) => (value === null || !bound || !bound[i] ? null : value / bound[i]));
    }
    return measured;
  }

  function hover(sweep, group, i, response) {
    const { unit, label } = JL.data.responses[response];
    const value = JL.values(group, response)[i];
    const off = JL.deviation(value, JL.fitted(group, response)[i]);
    const lines = [
      `<b>${plain(group.layers[i])}</b> on ${plain(JL.label(sweep, group))}`,
      `${plain(sweep.variable)} ${number(group.x[i], 8)}`,
      `${plain(label)} ${quantity(value, unit)}${off === null ? "" : `, ${percent(off)} from the fit`}`,
      ...JL.mapping.short(group, i).map(plain),
    ];
    return lines.join("<br>");
  }

  const every = (length, most) => {
    if (length <= most) return Array.from({ length }, (_, i) => i);
    return [...new Set(Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1))))];
  };

  const axis = (text, more) => ({
    title: { text: plain(text), standoff: 8 }, gridcolor: css("--grid"), linecolor: css("--line"), zerolinecolor: css("--line"),
    ticks: "outside", tickcolor: css("--line"), automargin: true, ...more,
  });

  function upright(view, response, groups) {
    const { unit, label } = JL.data.responses[response];
    if (view === "residuals") {
      const largest = Math.max(0, ...groups.map((group) => Math.max(...heights(view, group, response).map(Math.abs))));
      return axis("deviation from the fit", { tickformat: "~%", zeroline: true, range: largest < 1e-3 ? [-0.01, 0.01] : undefined });
    }
    if (view === "bound") return axis(`${label} / lower bound`, { rangemode: "tozero" });
    if (view === "other") return axis(`${label} / other run`);
    if (view === "cycles") return axis("cycles", { rangemode: "tozero", tickformat: "~s" });
    if (view === "utilization") return axis("multipliers in use", { range: [0, 1.05], tickformat: "~%" });
    if (view === "edp") return axis(`total energy × cycles [${JL.joules ? "J" : "words"}·cycles]`, { type: "log", tickformat: "~s" });
    if (view === "roofline") return axis("operations per cycle", { type: "log", dtick: "D2", tickformat: "~s", minor: { showgrid: false } });
    const symbol = unit === "pJ" ? "J" : "";
    const per = view === "permac" ? " per operation" : "";
    return axis(`${label}${per}${unit && unit !== "pJ" ? ` [${unit}]` : ""}`, { rangemode: "tozero", tickformat: "~s", ticksuffix: symbol });
  }

  // Points of every visible group, with fitted line, bounds and published values where the view has them.
  function scatter(sweep, view, selected) {
    const response = JL.state.response;
    const { unit } = JL.data.responses[response];
    const scale = unit === "pJ" && ["growth", "permac", "edp"].includes(view) ? 1e-12 : 1;
    const traces = [];
    const legend = [];
    const groups = having(sweep);
    const scaled = (list) => list.map((value) => (value === null ? null : value * scale));
    for (const group of groups) {
      const name = JL.label(sweep, group);
      const colour = JL.colour(group.architecture);
      const y = heights(view, group, response);
      const x = widths(view, group);
      const shown = every(group.x.length, Math.floor(MOST_DRAWN / groups.length));
      const dense = shown.length > 300;
      traces.push({
        type: "scatter", mode: "markers", name: plain(name), meta: sweep.groups.indexOf(group), customdata: shown,
        x: shown.map((i) => x[i]), y: scaled(shown.map((i) => y[i])),
        text: shown.map((i) => hover(sweep, group, i, response)), hovertemplate: "%{text}<extra></extra>",
        marker: { color: colour, symbol: JL.symbol(group.architecture), size: dense ? 4.5 : 7, opacity: dense ? 0.65 : 0.9,
          line: { color: css("--surface"), width: dense ? 0 : 0.5 } },
      });
      legend.push({ kind: "dot", colour, symbol: JL.symbol(group.architecture), text: `${name}, ${group.x.length} layers` });
      const entry = group.responses[response];
      if (view === "growth" && entry.line) {
        traces.push(line(entry.line[0], scaled(entry.line[1]), colour, "dash"));
        legend.push({ kind: "dash", colour, text: `${name}: fitted ${entry.expected.replace(/_/g, " ")} growth` });
      }
      for (const [side, dash] of [["lower", "dot"], ["upper", "dashdot"]]) {
        if (view !== "growth" || !entry.bounds[side]) continue;
        traces.push(line(group.x, scaled(entry.bounds[side]), css("--muted"), dash));
        legend.push({ kind: dash === "dot" ? "dotted" : dash, colour: css("--muted"), text: `${name}: ${side} bound of theory` });
      }
      if (view === "growth" && group.published && group.published[response]) {
        traces.push({
          type: "scatter", mode: "markers", x: group.published.x, y: scaled(group.published[response]), name: "published",
          marker: { symbol: "circle-open", size: 11, color: colour, line: { width: 1.5 } },
          text: group.published.x.map((x, k) => `published, ${plain(name)}<br>${plain(sweep.variable)} ${number(x)}<br>${quantity(group.published[response][k], unit)}`),
          hovertemplate: "%{text}<extra></extra>",
        });
        legend.push({ kind: "ring", colour, text: `${name}: published values` });
      }
    }
    const chosen = selected && groups.includes(selected.group) ? heights(view, selected.group, response)[selected.index] : null;
    const place = chosen === null ? null : widths(view, selected.group)[selected.index];
    traces.push({
      type: "scatter", mode: "markers", hoverinfo: "skip", x: place === null ? [] : [place],
      y: place === null ? [] : [chosen * scale],
      marker: { symbol: "circle-open", size: 15, color: css("--text"), line: { width: 2 } }, name: "selected",
    });
    const level = view === "bound" || view === "other" ? 1 : null;
    const shapes = level === null ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, line: { color: css("--text"), dash: "dash", width: 1 } }];
    for (const group of view === "roofline" ? groups : []) {
      const { x, y, top } = roof(group);
      traces.push(line(x, y, JL.colour(group.architecture), "dash"));
      const slope = group.bandwidth ? `${number(group.bandwidth)} words of DRAM per cycle` : "no bandwidth of DRAM is stated, so it has no slope";
      legend.push({ kind: "dash", colour: JL.colour(group.architecture), text: `${JL.label(sweep, group)}: at most ${number(top)} operations per cycle; ${slope}` });
    }
    const along = view === "roofline" ? axis("operations per word of DRAM", { type: "log", dtick: "D2", tickformat: "~s" }) : axis(sweep.variable, { zeroline: false });
    return { traces, legend, layout: { xaxis: along, yaxis: upright(view, response, groups), shapes }, height: 500 };
  }

  const line = (x, y, colour, dash) => ({ type: "scatter", mode: "lines", x, y, line: { color: colour, dash, width: 1.8 }, hoverinfo: "skip" });

  // The columns of energy by level and data space that a group has, compute first.
  function stackColumns(columns) {
    const found = columns.compute_pj ? [{ column: "compute_pj", level: "compute", space: "weights", label: "compute" }] : [];
    for (const column of Object.keys(columns)) {
      // A shape's own data spaces look in their order like those of a convolution.
      const position = JL.data.spaces.findIndex((name) => column.endsWith(`_${name.toLowerCase()}_pj`));
      if (position < 0) continue;
      const space = JL.data.spaces[position].toLowerCase();
      const level = column.slice(0, -`_${space}_pj`.length);
      found.push({ column, level, space: Object.keys(PATTERNS)[position % 3], label: `${level} ${space}` });
    }
    return found;
  }

  const levelColour = (levels, level) => (level === "compute" ? css("--compute") : css(`--level-${levels.indexOf(level) % 8}`));

  // Stacks by level (colour) and data space (pattern), a panel a group; `bars` are [name, columns of values] a panel.
  // Bars of categories side by side, or at their sizes, each as wide as its nearer neighbour allows.
  function stacks(panels, categories, label, share, sizes = null) {
    const gapTo = (i, j) => (sizes[j] === undefined ? Infinity : Math.abs(sizes[i] - sizes[j]));
    const widths = sizes && sizes.map((_, i) => 0.85 * Math.min(gapTo(i, i - 1), gapTo(i, i + 1))).map((width) => (Number.isFinite(width) ? width : 1));
    const traces = [];
    const legend = new Map();
    const layout = { barmode: "stack", bargap: 0.12, annotations: [] };
    const gap = 0.16 / panels.length;
    const narrow = document.documentElement.clientWidth < 600;
    panels.forEach((panel, p) => {
      // Colours by the place of a level in its own hierarchy: those of two architectures together are more than there are colours.
      const levels = [...new Set(stackColumns(panel.columns).map((part) => part.level))].filter((level) => level !== "compute");
      const suffix = p ? String(p + 1) : "";
      const top = 1 - p / panels.length;
      const totals = categories.map((_, i) => stackColumns(panel.columns).reduce((sum, part) => sum + (panel.columns[part.column][i] || 0), 0));
      for (const part of stackColumns(panel.columns)) {
        const colour = levelColour(levels, part.level);
        const y = panel.columns[part.column].map((value, i) => (share ? (value || 0) / (totals[i] || 1) : (value || 0) * (JL.joules ? 1e-12 : 1)));
        traces.push({
          type: "bar", x: sizes || categories, ...(widths && { width: widths }), y, name: plain(part.label), xaxis: `x${suffix}`, yaxis: `y${suffix}`,
          marker: { color: colour, pattern: { shape: part.level === "compute" ? "" : PATTERNS[part.space], fgcolor: css("--surface"), fillmode: "overlay", size: 6, solidity: 0.25 } },
          customdata: panel.columns[part.column].map((value, i) => `${quantity(value || 0, "pJ")}, ${percent((value || 0) / (totals[i] || 1))}`),
          hovertemplate: `<b>${plain(part.label)}</b><br>${plain(panel.name)}, ${plain(label)} %{x}<br>%{customdata} of the total<extra></extra>`,
        });
        legend.set(part.label, { kind: "box", colour, pattern: part.level === "compute" ? "" : part.space, text: part.label.replace(/_/g, " ") });
      }
      const last = p === panels.length - 1;
      // Panels of categories have the same ones: the last names them all, upright, so that none runs into another.
      const ticks = sizes ? { type: "linear", nticks: narrow ? 5 : 12, tickangle: narrow ? 0 : "auto" }
        : { type: "category", showticklabels: last, tickangle: -90, nticks: narrow ? 24 : 60 };
      layout[`xaxis${suffix}`] = axis(last ? label : "", { anchor: `y${suffix}`, showgrid: false, ...ticks });
      layout[`yaxis${suffix}`] = axis(share ? "share of total" : `total energy${JL.joules ? "" : ` [${JL.data.unit}]`}`, {
        domain: [Math.max(0, top - 1 / panels.length + (last ? 0 : gap)), top - gap * 0.6], anchor: `x${suffix}`,
        tickformat: share ? ".0%" : "~s", ticksuffix: share || !JL.joules ? "" : "J", range: share ? [0, 1] : undefined, rangemode: "tozero",
      });
      layout.annotations.push({ text: `<b>${plain(panel.name)}</b>`, xref: "paper", yref: "paper", x: 0, y: top, xanchor: "left", yanchor: "top", showarrow: false });
    });
    return { traces, legend: [...legend.values()], layout, height: 90 + 270 * panels.length };
  }

  // Mean energies of the layers of one size, at no more sizes than bars can show.
  function bySize(group, sizes) {
    const place = new Map(sizes.map((size, k) => [size, k]));
    const counts = sizes.map(() => 0);
    group.x.forEach((x) => place.has(x) && (counts[place.get(x)] += 1));
    const columns = {};
    for (const { column } of stackColumns(group.columns)) {
      const sums = sizes.map(() => 0);
      group.x.forEach((x, i) => place.has(x) && (sums[place.get(x)] += group.columns[column][i] || 0));
      columns[column] = sums.map((sum, k) => (counts[k] ? sum / counts[k] : 0));
    }
    return columns;
  }

  function breakdown(sweep, share) {
    const groups = JL.visible(sweep);
    const all = [...new Set(groups.flatMap((group) => group.x))].sort((a, b) => a - b);
    // Evenly spaced sizes, not every so many: linear growth in products would look quadratic.
    const wanted = Array.from({ length: MOST_STACKS }, (_, k) => all[0] + (k / (MOST_STACKS - 1)) * (all[all.length - 1] - all[0]));
    const nearest = (size) => all.reduce((best, one) => (Math.abs(one - size) < Math.abs(best - size) ? one : best));
    const sizes = all.length <= MOST_STACKS ? all : [...new Set(wanted.map(nearest))];
    const panels = groups.map((group) => ({ name: JL.label(sweep, group), columns: bySize(group, sizes) }));
    return stacks(panels, sizes.map((size) => number(size, 8)), sweep.variable, share, sizes);
  }

  JL.traces = { views, having, constant, title, scatter, breakdown, stacks, heights };
})();
