"use strict";
// One chart: drawn when it comes into view, again when the theme, its size or paper asks for it, with a legend in HTML.
(() => {
  const { el, css } = JL;
  // The buttons by name: the library's own choice has one that offers to send the data to a server.
  const CONFIG = {
    displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", toImageButtonOptions: { format: "svg" },
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  const PAPER_WIDTH = 660;
  const charts = new Set();

  const SHAPES = {
    circle: () => el("circle", { cx: 7, cy: 7, r: 4.5 }), square: () => el("rect", { x: 3, y: 3, width: 8, height: 8 }),
    diamond: () => el("path", { d: "M7 2 L12 7 L7 12 L2 7 Z" }), "triangle-up": () => el("path", { d: "M7 2 L12 11 L2 11 Z" }),
    "triangle-down": () => el("path", { d: "M7 12 L12 3 L2 3 Z" }),
  };
  const DASHES = { dash: "5 3", dotted: "1.5 2.5", dashdot: "5 2 1.5 2" };

  function key(entry) {
    const box = el("svg", { class: "key-drawing", viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" });
    if (entry.kind === "box") {
      box.append(el("rect", { x: 1, y: 1, width: 12, height: 12, fill: entry.colour }));
      if (entry.pattern === "inputs") box.append(el("path", { d: "M1 8 L8 1 M4 13 L13 4", stroke: css("--surface"), "stroke-width": 1.6 }));
      if (entry.pattern === "outputs") box.append(el("path", { d: "M6 1 L13 8 M1 4 L10 13", stroke: css("--surface"), "stroke-width": 1.6 }));
    } else if (entry.kind === "dot") {
      const shape = (SHAPES[entry.symbol] || SHAPES.circle)();
      shape.setAttribute("fill", entry.colour);
      box.append(shape);
    } else if (entry.kind === "ring") {
      box.append(el("circle", { cx: 7, cy: 7, r: 5, fill: "none", stroke: entry.colour, "stroke-width": 1.6 }));
    } else {
      box.append(el("line", { x1: 0, x2: 14, y1: 7, y2: 7, stroke: entry.colour, "stroke-width": 2, "stroke-dasharray": DASHES[entry.kind] }));
    }
    return box;
  }

  class Chart {
    // `describe` returns traces, layout, legend, height and the title; `opened` is called after the first drawing.
    constructor(frame, describe) {
      this.describe = describe;
      this.plot = el("div", { class: "plot" });
      this.legend = el("ul", { class: "legend" });
      frame.append(this.plot, this.legend);
      this.seen = false;
      charts.add(this);
      new IntersectionObserver((entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        this.show();
      }, { rootMargin: "400px" }).observe(frame);
    }

    show() {
      if (this.seen) return;
      this.seen = true;
      this.draw();
    }

    draw(width) {
      if (!this.seen) return;
      const { traces, layout, legend, height } = this.describe();
      const narrow = (width || this.plot.clientWidth) < 520;
      const full = {
        height: narrow ? Math.round(height * 0.85) : height, autosize: !width, width: width || undefined,
        margin: { l: 10, r: 10, t: 24, b: 10 }, showlegend: false, hovermode: "closest", dragmode: narrow ? false : "zoom",
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: css("--font"), size: narrow ? 11 : 12, color: css("--text") },
        hoverlabel: { align: "left", bgcolor: css("--raised"), bordercolor: css("--line"), font: { color: css("--text"), size: 12 } },
        ...layout,
      };
      window.Plotly.react(this.plot, traces, full, { ...CONFIG, displayModeBar: narrow ? false : "hover" });
      this.plot.dataset.drawn = "true";
      this.legend.replaceChildren(...legend.map((entry) => el("li", {}, key(entry), entry.text)));
      if (this.listener && !this.listening) {
        this.listening = true;
        this.plot.on("plotly_click", (event) => {
          const point = event.points.find((one) => one.data.customdata && one.data.meta !== undefined);
          if (point) this.listener(point.data.meta, typeof point.customdata === "number" ? point.customdata : point.pointNumber);
        });
      }
    }

    // `listener` is called with the group and the index of a point that is clicked.
    onClick(listener) {
      this.listener = listener;
    }
  }

  // On paper every chart is drawn, in light colours and at the paper's width.
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.querySelectorAll("details.fold").forEach((fold) => { fold.open = true; });
    document.documentElement.dataset.theme = "light";
    for (const chart of charts) {
      chart.seen = true;
      chart.draw(PAPER_WIDTH);
    }
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = before;
    charts.forEach((chart) => chart.draw());
  });

  JL.Chart = Chart;
  JL.redraw = () => charts.forEach((chart) => chart.draw());
})();
