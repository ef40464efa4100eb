"use strict";
(function () {
  // Trends: uPlot draws the SVG plots again, with zoom and a readout for the pointer.
  // The values come from the table below each plot.
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function read(section) {
    var data = { index: [], value: [], low: [], high: [], rows: [] };
    section.querySelectorAll("table.points tbody tr").forEach(function (tr, i) {
      var v = (tr.dataset.v || "").split(" ").filter(Boolean).map(Number);
      data.index.push(i);
      data.value.push(v.length ? v[0] : null);
      data.low.push(v.length > 1 ? v[1] : null);
      data.high.push(v.length > 1 ? v[2] : null);
      data.rows.push(Array.from(tr.cells).map(function (td) { return td.textContent; }));
    });
    return data;
  }
  // Vertical lines at changes, and where the anchor changes.
  function marks(section) {
    var list = [];
    section.querySelectorAll("table.changes tbody tr").forEach(function (tr) {
      list.push({ at: tr.dataset.index - 0.5, colour: "--" + tr.dataset.class, label: tr.dataset.label, dash: [] });
    });
    section.querySelectorAll("p.anchored").forEach(function (p) { list.push({ at: p.dataset.index - 0.5, colour: "--fg", label: "", dash: [3, 4] }); });
    return list;
  }
  function draw(section) {
    var box = section.querySelector(".plot"), readout = section.querySelector(".readout"), data = read(section), lines = marks(section);
    var old = box.querySelector(".uplot");
    if (old) old.remove();
    if (!readout) {
      readout = document.createElement("p");
      readout.className = "readout dim";
      section.querySelector("figure").appendChild(readout);
    }
    function axis(extra) { return Object.assign({ stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" }, extra); }
    var none = function () { return null; };
    var plot = new uPlot({
      width: Math.max(640, box.clientWidth), height: 230, legend: { show: false },
      cursor: { y: false, points: { size: 8 } },
      scales: { x: { time: false, range: function (u, from, to) { return [from - 0.6, to + 0.6]; } }, y: { range: [Number(box.dataset.low), Number(box.dataset.high)] } },
      axes: [
        axis({ grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100], values: function (u, at) { return at.map(function (i) { var row = data.rows[i]; return row ? row[0] : ""; }); } }),
        axis({ size: 60 })
      ],
      series: [
        {},
        { stroke: "transparent", points: { show: false }, paths: none },
        { stroke: "transparent", points: { show: false }, paths: none },
        { stroke: colour("--link"), width: 1.5, points: { size: 5, fill: colour("--link") } }
      ],
      hooks: {
        drawClear: [function (u) { band(u, data); }],
        draw: [function (u) { across(u, lines); }],
        setCursor: [function (u) { var row = data.rows[u.cursor.idx]; readout.textContent = row && u.cursor.left >= 0 ? "run " + row[0] + ", " + row[1] + ", commit " + row[2] + ": " + row[3] + ", " + row[4] : ""; }]
      }
    }, [data.index, data.low, data.high, data.value], box);
    box.classList.add("live");
    return plot;
  }
  // The band of intervals, with gaps where there are none.
  function band(u, data) {
    var ctx = u.ctx, part = [];
    function flush() {
      if (part.length > 1) {
        ctx.beginPath();
        part.forEach(function (i) { ctx.lineTo(u.valToPos(i, "x", true), u.valToPos(data.high[i], "y", true)); });
        part.slice().reverse().forEach(function (i) { ctx.lineTo(u.valToPos(i, "x", true), u.valToPos(data.low[i], "y", true)); });
        ctx.fill();
      }
      part = [];
    }
    clipped(u, function () {
      ctx.globalAlpha = 0.18;
      ctx.fillStyle = colour("--dim");
      data.index.forEach(function (i) { if (data.low[i] === null) flush(); else part.push(i); });
      flush();
    });
  }
  function across(u, lines) {
    var ctx = u.ctx, ratio = devicePixelRatio || 1;
    clipped(u, function () {
      lines.forEach(function (line) {
        var x = u.valToPos(line.at, "x", true);
        ctx.strokeStyle = ctx.fillStyle = colour(line.colour);
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash(line.dash.map(function (d) { return d * ratio; }));
        ctx.beginPath();
        ctx.moveTo(x, u.bbox.top);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
        ctx.stroke();
        ctx.font = "600 " + 13 * ratio + "px system-ui, sans-serif";
        ctx.textBaseline = "top";
        ctx.textAlign = x > u.bbox.left + u.bbox.width / 2 ? "right" : "left";
        ctx.fillText(line.label, x + (ctx.textAlign === "right" ? -5 : 5) * ratio, u.bbox.top + 2 * ratio);
      });
    });
  }
  function clipped(u, paint) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    paint();
    u.ctx.restore();
  }
  // Plots are drawn when they come into view, and again when colours or widths change.
  var drawn = new Map();
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (e) {
      if (e.isIntersecting && !drawn.has(e.target)) drawn.set(e.target, draw(e.target));
    });
  }, { rootMargin: "200px" });
  document.querySelectorAll("section.trend").forEach(function (section) { seen.observe(section); });
  function again() { drawn.forEach(function (plot, section) { plot.destroy(); drawn.set(section, draw(section)); }); }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  var later;
  addEventListener("resize", function () { clearTimeout(later); later = setTimeout(again, 200); });
})();
