"use strict";
// The page's namespace: embedded data, what is filtered, numbers as text, and small helpers for elements.
window.JL = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const state = { architectures: new Set(), response: Object.keys(data.responses)[0] };
  const SVG = "http://www.w3.org/2000/svg";

  // Make an element; names in the data only ever become text, never markup.
  function el(tag, attributes, ...children) {
    const drawn = ["svg", "path", "rect", "circle", "line", "text"].includes(tag);
    const node = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, name === "aria-label" ? said(value) : value);
    }
    const shown = children.flat().filter((child) => child !== null && child !== undefined);
    node.append(...shown.map((child) => (typeof child === "string" ? said(child) : child)));
    return node;
  }

  // Where accesses are counted there are no energies: all that the data name in pJ is words, and said so.
  const joules = data.unit === "pJ";
  const SAID = [[/\benergies\b/g, "access counts"], [/\benergy\b/g, "access count"], [/\bEnergy\b/g, "Access count"]];
  const said = (text) => (joules ? text : SAID.reduce((found, [word, other]) => found.replace(word, other), text));

  const PREFIXES = ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T"];

  // A number with an SI prefix; energies come in pJ and are shown in joules.
  function quantity(value, unit, digits = 4) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const energy = unit === "pJ";
    const symbol = energy ? (joules ? "J" : data.unit) : unit;
    const base = energy && joules ? value * 1e-12 : value;
    if (base === 0) return `0 ${symbol}`.trim();
    const step = Math.min(Math.max(Math.floor(Math.log10(Math.abs(base)) / 3), -5), 4);
    return `${minus(Number((base / 10 ** (3 * step)).toPrecision(digits)))} ${PREFIXES[step + 5]}${symbol}`.trim();
  }

  const whole = new Intl.NumberFormat("en-US");
  const number = (value, digits = 4) =>
    value === null || value === undefined || !Number.isFinite(value)
      ? "–"
      : minus(Number.isInteger(value) ? whole.format(value) : String(Number(value.toPrecision(digits))));
  const percent = (share) => (Number.isFinite(share) ? `${minus(Number((100 * share).toPrecision(3)))} %` : "–");

  function minus(value) {
    return String(value).replace("-", "−");
  }

  // Text for Plotly, which reads a little markup in its labels.
  const plain = (text) => said(String(text)).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const architectures = [...new Set(data.sweeps.flatMap((sweep) => sweep.groups.map((group) => group.architecture)))];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "x", "star"];
  const colour = (architecture) => css(`--series-${architectures.indexOf(architecture) % 8}`);
  const symbol = (architecture) => SYMBOLS[architectures.indexOf(architecture) % SYMBOLS.length];

  // The values of a response: the sum of its columns; missing where any is.
  function values(group, response) {
    group.cache = group.cache || {};
    if (!group.cache[response]) {
      const columns = group.responses[response].columns.map((name) => group.columns[name]).filter(Boolean);
      group.cache[response] = group.x.map((_, i) =>
        columns.length ? columns.reduce((sum, c) => (sum === null || c[i] === null ? null : sum + c[i]), 0) : null,
      );
    }
    return group.cache[response];
  }

  // The fitted expected growth at every point: a polynomial in the growth's regressor.
  function fitted(group, response) {
    const { c, expected } = group.responses[response];
    if (!c) return group.x.map(() => null);
    const u = group.regressors[expected] || group.x;
    return u.map((value) => c.reduceRight((sum, coefficient) => sum * value + coefficient, 0));
  }

  // The embedded values have seven digits: what is below that is no deviation.
  function deviation(measured, fit) {
    if (measured === null || !fit) return null;
    const share = (measured - fit) / fit;
    return Math.abs(share) < 1e-6 ? 0 : share;
  }

  // How a group is called: by its architecture, and by engine and energies where a table mixes several.
  function label(sweep, group) {
    const same = sweep.groups.filter((other) => other.architecture === group.architecture);
    return same.length > 1 ? `${group.architecture} (${group.engine}, ${group.energy_table})` : group.architecture;
  }

  const visible = (sweep) => sweep.groups.filter((group) => state.architectures.has(group.architecture));

  function announce(text) {
    document.getElementById("announcer").textContent = text;
  }

  architectures.forEach((name) => state.architectures.add(name));
  return {
    data, joules, said, state, el, quantity, number, percent, plain, css, architectures, colour, symbol,
    values, fitted, deviation, label, visible, announce,
  };
})();
