"use strict";
// Draws the figures, dresses them in the page's colours (light or dark), shows and hides series, and lets the
// arrow keys walk from point to point. Nothing here reads or writes anything outside this page.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const plots = figures.map((_, i) => document.getElementById("plot-" + i));
  const hidden = new Set();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touched = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true, displaylogo: false, doubleClick: "reset", displayModeBar: touched ? false : "hover",
    modeBarButtons: [["toImage", "resetScale2d"]],
  };

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  // "@c1/0.2" is the first colour of the palette with an opacity of 0.2.
  function colour(word) {
    const [name, opacity] = word.slice(1).split("/");
    const hex = variable(name) || variable("ink");
    if (opacity === undefined) return hex;
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${Number(opacity)})`;
  }

  function dressed(value, key = "") {
    if (typeof value === "string") return /color$/.test(key) && value.startsWith("@") ? colour(value) : value;
    if (Array.isArray(value)) return value.map((item) => dressed(item, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, dressed(v, k)]));
  }

  function merged(below, above) {
    const result = { ...below };
    for (const [key, value] of Object.entries(above)) {
      const both = [below[key], value].every((v) => v !== null && typeof v === "object" && !Array.isArray(v));
      result[key] = both ? merged(below[key], value) : value;
    }
    return result;
  }

  function layout(figure) {
    const axis = {
      gridcolor: "@grid", linecolor: "@line", zeroline: false, automargin: true, ticks: "", title: { standoff: 8 },
      tickfont: { color: "@muted" }, tickangle: 0,
    };
    const axes = Object.keys(figure.layout).filter((key) => /^[xy]axis\d*$/.test(key));
    const base = {
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "@ink" },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 12, t: 12, b: 8 }, showlegend: false, hovermode: "closest",
      hoverlabel: { bgcolor: "@raised", bordercolor: "@line", font: { color: "@ink" }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "@muted", activecolor: "@ink" },
      dragmode: touched ? false : "zoom", // a finger scrolls the page
    };
    for (const name of new Set(["xaxis", "yaxis", ...axes])) base[name] = axis;
    return dressed(merged(base, figure.layout));
  }

  function draw(figure, plot) {
    const traces = figure.data.map(({ group, ...trace }) => ({ ...dressed(trace), visible: !hidden.has(group) }));
    return Plotly.react(plot, traces, { ...layout(figure), width: plot.clientWidth }, config);
  }

  // Few figures are drawn at once. Of many, those near the screen are; the others wait until they are scrolled to.
  const lazily = figures.length > 8;
  const near = new Set(lazily ? [] : plots.keys());
  const stale = new Set();
  const walked = new Set();

  async function refresh() {
    const due = [...stale].filter((i) => near.has(i));
    for (const i of due) stale.delete(i);
    await Promise.all(due.map((i) => draw(figures[i], plots[i])));
    for (const i of due) {
      // A screen reader has the description, the readings and the table; single ticks would only be noise.
      for (const picture of plots[i].querySelectorAll("svg")) picture.setAttribute("aria-hidden", "true");
      if (!walked.has(i)) walk(plots[i], i);
      walked.add(i);
    }
  }

  function drawAll() {
    plots.forEach((_, i) => stale.add(i));
    return refresh();
  }

  function watch() {
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) near.add(plots.indexOf(target)); else near.delete(plots.indexOf(target));
      }
      refresh();
    }, { rootMargin: "100% 0px" });
    for (const plot of plots) observer.observe(plot);
  }

  // The page's escapes become the characters they stand for; the result is only ever set as text.
  function plain(words) {
    return new DOMParser().parseFromString(String(words).replace(/<br>/g, " · "), "text/html").body.textContent;
  }

  // Reading a figure by keyboard: arrows go from point to point, Escape lets go.
  function walk(plot, place) {
    const reading = plot.parentElement.querySelector(".reading");
    let at = -1;
    const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(5)).toLocaleString("en") : value);
    function read(trace, point) {
      const words = [trace.hovertext, trace.text].map((all) => (Array.isArray(all) ? all[point] : all)).find(Boolean);
      reading.textContent = plain(`${words || trace.name || ""} (${shown(trace.x[point])}, ${shown(trace.y[point])})`.trim());
    }
    plot.on("plotly_hover", ({ points: [point] }) => read(figures[place].data[point.curveNumber], point.pointNumber));
    plot.on("plotly_unhover", () => { reading.textContent = ""; });
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") Plotly.Fx.unhover(plot);
      if (step === undefined || event.target !== plot) return;
      const points = figures[place].data.flatMap((trace, curveNumber) => (hidden.has(trace.group) ||
        trace.hoverinfo === "skip" ? [] : trace.x.map((_, pointNumber) => ({ curveNumber, pointNumber }))));
      if (!points.length) return;
      event.preventDefault();
      at = (at + step + points.length) % points.length;
      const { xaxis = "x", yaxis = "y" } = figures[place].data[points[at].curveNumber];
      Plotly.Fx.hover(plot, [points[at]], xaxis + yaxis);
      read(figures[place].data[points[at].curveNumber], points[at].pointNumber);
    });
  }

  const boxes = [...document.querySelectorAll("input[data-group]")];
  for (const box of boxes) {
    box.checked = box.defaultChecked; // a browser may remember another state from before a reload
    if (!box.checked) hidden.add(box.dataset.group);
    box.addEventListener("change", () => {
      const { group } = box.dataset;
      if (box.checked) hidden.delete(group); else hidden.add(group);
      for (const other of boxes) if (other.dataset.group === group) other.checked = box.checked;
      drawAll();
    });
  }
  dark.addEventListener("change", drawAll);
  const folded = [...document.querySelectorAll(".note details:not([open])")]; // on paper nobody can unfold them
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) { // paper is light
    addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      for (const box of folded) box.open = printing;
      if (printing) plots.forEach((_, i) => near.add(i));
      drawAll();
    });
  }
  drawAll().then(() => {
    if (lazily) watch();
    document.documentElement.classList.add("drawn");
  });
})();
