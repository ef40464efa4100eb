"use strict";
(function () {
  // Sorting: a click on a column's heading sorts by it, and another click reverses the order.
  function value(cell) {
    var text = cell.textContent.trim();
    var number = parseFloat(text.replace(/[,±%]/g, ""));
    return isNaN(number) || /[a-z]=/.test(text) ? text.toLowerCase() : number;
  }
  function sort(table, column, head) {
    var descending = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("thead th").forEach(function (th) { th.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    var body = table.tBodies[0];
    Array.from(body.rows).sort(function (a, b) {
      var x = value(a.cells[column]), y = value(b.cells[column]), order;
      if (typeof x !== typeof y) order = typeof x === "number" ? -1 : 1;
      else order = x < y ? -1 : x > y ? 1 : 0;
      return descending ? -order : order;
    }).forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead th").forEach(function (th, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      th.textContent = "";
      th.appendChild(button);
      button.addEventListener("click", function () { sort(table, column, th); });
    });
  });
  // Pointing at a row, in a plot or in its table, shows its details at once, in place of
  // the browser's own slow tooltip.
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.appendChild(tip);
  function hintOf(g) {
    var title = g.querySelector("title");
    if (title) { g.dataset.hint = title.textContent; title.remove(); }
    return g.dataset.hint || "";
  }
  // A row of a plot is named by its label. If that was too long, or there was no room for
  // it, the hint begins with the name.
  function nameOf(g) {
    var label = g.hasAttribute("transform") ? g.querySelector("text").textContent : "…";
    return label.slice(-1) === "…" ? hintOf(g).split("\n")[0] : label;
  }
  // The whole width of a row can be pointed at.
  document.querySelectorAll("svg g.r[transform]").forEach(function (g) {
    var hit = document.createElementNS("http://www.w3.org/2000/svg", "path");
    hit.setAttribute("class", "hit");
    hit.setAttribute("d", "M0-17h900v30H0z");
    g.insertBefore(hit, g.firstChild);
  });
  // First the row's figures from its table, then the hint from its plot.
  function figures(row) {
    var heads = row.closest("table").tHead.rows[0].cells;
    return Array.from(row.cells).slice(1).map(function (cell, i) { return heads[i + 1].textContent.trim() + ": " + cell.textContent.trim(); });
  }
  function whole(section, name) {
    var row = Array.from(section.querySelectorAll("table.sortable tbody tr")).find(function (row) { return row.cells[0].textContent.trim() === name; });
    var g = Array.from(section.querySelectorAll("g.r[transform]")).find(function (g) { return nameOf(g) === name; });
    return [name].concat(row ? figures(row) : [], g ? hintOf(g).split("\n").filter(function (line) { return line && line !== name; }) : []).join("\n");
  }
  function hinted(target) {
    if (!target.closest) return "";
    var g = target.closest("g.r"), section = target.closest("section.case");
    if (g) return section ? whole(section, nameOf(g)) : hintOf(g);
    return section && target.tagName === "TH" && target.closest("tbody") ? whole(section, target.textContent.trim()) : "";
  }
  function place(event) {
    var room = 14, x = event.clientX + room, y = event.clientY + room;
    if (x + tip.offsetWidth > innerWidth) x = Math.max(4, event.clientX - tip.offsetWidth - room);
    if (y + tip.offsetHeight > innerHeight) y = Math.max(4, event.clientY - tip.offsetHeight - room);
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  function point(event) {
    var text = hinted(event.target);
    tip.hidden = text === "";
    if (text === "") return;
    if (tip.textContent !== text) tip.textContent = text;
    place(event);
  }
  document.addEventListener("pointerover", point);
  document.addEventListener("pointermove", function (event) { if (!tip.hidden) place(event); });
  document.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
  document.documentElement.addEventListener("pointerleave", function () { tip.hidden = true; });
  // Filtering: every word must be in a row's name.
  var bar = document.querySelector(".bar"), input = document.getElementById("filter"), count = document.getElementById("count");
  if (!bar) return;
  bar.hidden = false;
  function filter() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0, total = 0;
    function matches(name) { return words.every(function (word) { return name.toLowerCase().indexOf(word) >= 0; }); }
    document.querySelectorAll("section.case").forEach(function (section) {
      var any = false, name = section.querySelector("h3").textContent + "/";
      section.querySelectorAll("table.sortable tbody tr").forEach(function (row) {
        var hit = matches(name + row.cells[0].textContent.trim());
        row.hidden = !hit;
        any = any || hit;
        total++;
        if (hit) shown++;
      });
      section.querySelectorAll("g.r").forEach(function (g) { g.classList.toggle("out", !matches(name + nameOf(g))); });
      section.hidden = words.length > 0 && !any;
    });
    count.textContent = words.length ? shown + " of " + total + " rows" : total + " rows";
  }
  input.addEventListener("input", filter);
  filter();
})();
