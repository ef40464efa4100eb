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
      section.querySelectorAll("g.r").forEach(function (g) { g.classList.toggle("out", !matches(name + g.dataset.name)); });
      section.hidden = words.length > 0 && !any;
    });
    count.textContent = words.length ? shown + " of " + total + " rows" : total + " rows";
  }
  input.addEventListener("input", filter);
  filter();
})();
