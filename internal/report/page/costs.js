// The calculator: computes what cost.Model.Bill computes in Go, from the same figures.
(function () {
  var section = document.getElementById("costs");
  if (!section) return;
  var data = JSON.parse(document.getElementById("cost-data").textContent);
  // Headings and groups come as indexes into a list, parts as [name, ns, low, high].
  data.steps.forEach(function (step) {
    step.lists.forEach(function (list) {
      list.forEach(function (o) {
        o.heading = o.in ? data.headings[o.in - 1] : "";
        o.parts = (o.parts || []).map(function (p) { return { name: p[0], ns: p[1], low: p[2], high: p[3] }; });
      });
    });
  });
  var form = section.querySelector("form");
  var box = {};
  var names = data.steps.map(function (step) { return step.name; });
  ["message", "rate", "cpu", "gb"].concat(names).forEach(function (name) { box[name] = document.getElementById("cost-" + name); });
  var hoursPerMonth = 730;

  // A quantity is [value, low, high]; without bounds they are infinite.
  function exactly(x) { return [x, x, x]; }
  function ofPart(p) { return p.low === null || p.high === null ? [p.ns, -Infinity, Infinity] : [p.ns, p.low, p.high]; }
  function bounded(q) { return isFinite(q[1]) && isFinite(q[2]); }
  function times(q, f) { return [q[0] * f, q[1] * f, q[2] * f]; }
  function plus(q, s, o) {
    var low = s * o[1], high = s * o[2], middle = s * o[0];
    if (s < 0) { var swap = low; low = high; high = swap; }
    var value = q[0] + middle;
    return [value, value - Math.hypot(q[0] - q[1], middle - low), value + Math.hypot(q[2] - q[0], high - middle)];
  }

  // A step has one list of options for all messages, or one for each.
  function options(c) { return data.steps.map(function (step) { return step.lists[step.lists.length === 1 ? 0 : c.message]; }); }
  function chosen(c) { return options(c).map(function (list, i) { return list[c.at[i]]; }); }
  function cpuFactor(c) { return c.rate * 3600 * hoursPerMonth / 3.6e12 * c.cpu; }
  function trafficFactor(c) { return c.rate * 3600 * hoursPerMonth / 1e9 * c.gb; }
  function bytes(c) {
    var size = 0, wire = 0;
    chosen(c).forEach(function (o) {
      var own = o.bytes || 0;
      if (o.carries) wire += size + own;
      else size = o.whole ? own : size + own;
    });
    return wire;
  }
  function sum(c) {
    var lines = [], total = exactly(0), switches = [];
    chosen(c).forEach(function (o) {
      o.parts.forEach(function (p) { lines.push({ name: p.name, each: ofPart(p), usd: times(ofPart(p), cpuFactor(c)) }); });
    });
    lines.push({ name: "traffic", each: exactly(bytes(c)), usd: exactly(bytes(c) * trafficFactor(c)) });
    lines.forEach(function (l) { total = plus(total, 1, l.usd); });
    chosen(c).forEach(function (o, i) { if (o.parts.length) switches.push(cheapest(c, i)); });
    return { lines: lines, total: total, switches: switches };
  }
  function named(o) { return o.label + " (" + o.heading + ")"; }
  function cheapest(c, dimension) {
    var list = options(c)[dimension], at = c.at[dimension], now = list[at], best = { what: names[dimension], from: now.label, to: "", saving: null };
    list.forEach(function (o, i) {
      if (i === at || o.why || o.group !== now.group) return;
      var other = Object.assign({}, c);
      other.at = c.at.slice();
      other.at[dimension] = i;
      var saving = exactly((bytes(c) - bytes(other)) * trafficFactor(c));
      now.parts.forEach(function (p) { saving = plus(saving, cpuFactor(c), ofPart(p)); });
      o.parts.forEach(function (p) { saving = plus(saving, -cpuFactor(c), ofPart(p)); });
      if (!best.saving || saving[0] > best.saving[0]) {
        var apart = o.heading !== now.heading;
        best.from = apart ? named(now) : now.label;
        best.to = apart ? named(o) : o.label;
        best.saving = saving;
      }
    });
    return best;
  }

  // The texts, as in Go.
  function grouped(x) { return String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ","); }
  function dollars(x) {
    var sign = x < 0 ? "-" : "";
    x = Math.abs(x) * (1 + 1e-12);
    if (x >= 99.995) return sign + grouped(x);
    if (x >= 0.9995 || x === 0) return sign + x.toFixed(2);
    if (x < 0.0005) return "0.000";
    return sign + x.toFixed(3);
  }
  function brief(x) {
    x *= 1 + 1e-12;
    var decimals = 0;
    for (var limit = 99.95; x < limit && decimals < 5; limit /= 10) decimals++;
    var text = x.toFixed(decimals);
    return decimals ? text.replace(/\.?0+$/, "") : text;
  }
  function duration(ns) {
    if (ns >= 1e9) return brief(ns / 1e9) + " s";
    if (ns >= 1e6) return brief(ns / 1e6) + " ms";
    if (ns >= 1e3) return brief(ns / 1e3) + " µs";
    return brief(ns) + " ns";
  }
  function span(q, text) {
    if (!bounded(q)) return text(q[0]) + " (no interval yet)";
    return q[1] === q[2] ? text(q[0]) : text(q[0]) + " (" + text(q[1]) + " to " + text(q[2]) + ")";
  }
  function count(x) {
    if (x >= 999.95) return grouped(x);
    var decimals = 1;
    for (var limit = 100; x < limit && decimals < 4 && x !== Math.trunc(x); limit /= 10) decimals++;
    return x.toFixed(decimals);
  }
  function switchText(s) {
    if (!s.saving) return s.what + ": this record has nothing to switch to.";
    if (s.saving[0] <= 0) return s.what + ": " + s.from + " is the cheapest that was measured.";
    if (bounded(s.saving) && s.saving[1] <= 0 && s.saving[2] >= 0) return s.what + ": whether " + s.to + " is cheaper than " + s.from + " is undecided (" + dollars(s.saving[1]) + " to " + dollars(s.saving[2]) + " USD a month).";
    return s.what + ": " + s.to + " in place of " + s.from + " saves " + span(s.saving, dollars) + " USD a month.";
  }

  function element(tag, text, setting) {
    var e = document.createElement(tag);
    e.textContent = text;
    Object.keys(setting || {}).forEach(function (key) { e.setAttribute(key, setting[key]); });
    return e;
  }
  function show(c) {
    var b = sum(c), top = null, body = section.querySelector("table.costs").tBodies[0];
    body.textContent = "";
    b.lines.forEach(function (l) {
      if (!top || l.usd[0] > top.usd[0]) top = l;
      var row = body.insertRow(), share = b.total[0] > 0 ? 100 * l.usd[0] / b.total[0] : 0;
      row.appendChild(element("th", l.name, { scope: "row", "class": "left" }));
      row.appendChild(element("td", l.name === "traffic" ? count(l.each[0]) + " bytes" : span(l.each, duration)));
      row.appendChild(element("td", "")).appendChild(element("data", span(l.usd, dollars), { value: l.usd[0] }));
      var cell = row.appendChild(element("td", "", { "class": "left share" }));
      cell.appendChild(element("span", "")).style.width = share.toFixed(1) + "%";
      cell.appendChild(document.createTextNode(share.toFixed(0) + "%"));
    });
    var total = section.querySelector(".total data");
    total.value = b.total[0];
    total.textContent = span(b.total, dollars);
    total.parentNode.hidden = !(b.total[0] > 0);
    section.querySelector(".dominant").textContent = b.total[0] > 0 ? "Most of it is " + top.name + ": " + (100 * top.usd[0] / b.total[0]).toFixed(0) + "%." : "The record has the cost of nothing that is chosen: it lacks a part of what a message goes through.";
    var list = section.querySelector(".switches");
    list.textContent = "";
    b.switches.forEach(function (s) { list.appendChild(element("li", "")).appendChild(element("data", switchText(s), { value: s.saving ? s.saving[0] : 0 })); });
  }

  // Options may depend on the message; the chosen option stays if the message has it.
  function fill() {
    data.steps.forEach(function (step) {
      if (step.lists.length === 1) return;
      var select = box[step.name], was = select.selectedOptions[0], free = -1, same = -1;
      select.textContent = "";
      step.lists[box.message.value].forEach(function (o, i) {
        var option = element("option", o.label, { value: i });
        if (o.why) { option.disabled = true; option.textContent += ": " + o.why; }
        else {
          if (free < 0) free = i;
          if (was && was.textContent === o.label) same = i;
        }
        select.appendChild(option);
      });
      select.value = Math.max(0, same < 0 ? free : same);
    });
  }
  // Amounts that are not numbers, or are negative, count as 0.
  function number(input) { var x = parseFloat(input.value); return x > 0 && isFinite(x) ? x : 0; }
  function compute() {
    show({
      message: +box.message.value, at: names.map(function (name) { return +box[name].value; }),
      rate: number(box.rate), cpu: number(box.cpu), gb: number(box.gb)
    });
  }
  // The text for printing follows the choice.
  function given() {
    var text = section.querySelector(".given");
    text.textContent = "";
    ["message"].concat(names).forEach(function (name) {
      var span = element("span", form.querySelector("label[for=cost-" + name + "]").textContent + " ");
      span.appendChild(element("strong", box[name].selectedOptions[0].textContent));
      text.appendChild(span);
      text.append(" ");
    });
    ["rate", "cpu", "gb"].forEach(function (name) {
      var span = element("span", "");
      span.appendChild(element("strong", box[name].value));
      span.append(" " + form.querySelector("label[for=cost-" + name + "]").textContent);
      text.appendChild(span);
      text.append(" ");
    });
  }
  // A select's own listener runs before the form's.
  box.message.addEventListener("input", fill);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("input", function () { compute(); given(); });
  form.hidden = false;
})();
