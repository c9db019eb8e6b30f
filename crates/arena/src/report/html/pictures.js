/* Plots: exact figures under the pointer and by the arrow keys, and switches below a line plot. plot/pen.rs writes what is
   read here: g[data-who] has the elements of a contender, path.l its line, data-found the figures at the points of the
   line, and the title of a bar is the tooltip without this script. Only the wide form has these; the narrow one has the
   same groups in the same order. */
(function () {
  var root = document.documentElement;
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.appendChild(tip);
  var add = function (parent, kind, text) {
    var it = document.createElement(kind);
    if (text) it.textContent = text;
    return parent.appendChild(it);
  };
  var put = function (x, y) {
    tip.hidden = false;
    var box = tip.getBoundingClientRect(), right = root.clientWidth - box.width - 6, bottom = innerHeight - box.height - 6;
    tip.style.left = Math.max(6, x + 16 > right ? Math.min(right, x - box.width - 16) : x + 16) + "px";
    tip.style.top = Math.max(6, y + 14 > bottom ? y - box.height - 14 : y + 14) + "px";
  };
  /* Points of a path of M and l, as shape.rs writes it. */
  var points_of = function (d) {
    var all = [], x = 0, y = 0, tenths = function (number) { return Math.round(number * 10) / 10; };
    (d.match(/[Ml][^Mlh]*/g) || []).forEach(function (part) {
      var numbers = part.match(/-?[\d.]+/g).map(Number);
      if (part[0] === "M") x = y = 0;
      for (var at = 0; at + 1 < numbers.length; at += 2) { x += numbers[at]; y += numbers[at + 1]; all.push({ x: tenths(x), y: tenths(y) }); }
    });
    return all;
  };
  var is_on = function (part) { return !part.classList.contains("off"); };
  var chips = {};
  document.querySelectorAll(".chip").forEach(function (chip) {
    var use = chip.querySelector("use");
    if (use && !chips[use.getAttribute("href")]) chips[use.getAttribute("href")] = chip;
  });
  document.querySelectorAll(".legend[data-of]").forEach(function (legend) {
    var why = {};
    (legend.dataset.why || "").split(";").forEach(function (one) { var it = one.split("|"); why[it[0]] = it[1]; });
    legend.dataset.of.trim().split(" ").forEach(function (at) {
      if (!chips["#m" + at]) return;
      var item = add(legend, "li");
      item.dataset.at = at;
      item.appendChild(chips["#m" + at].cloneNode(true));
      if (why[at]) add(item, "span", why[at]).className = "why";
    });
  });
  document.querySelectorAll(".drawn").forEach(function (drawn) {
    var legend = drawn.querySelector(".legend"), mark = {}, name = {};
    var parts = function (who) { return drawn.querySelectorAll("g[data-who='" + who + "']"); };
    var items = legend ? Array.from(legend.querySelectorAll("li")) : [];
    items.forEach(function (item) { mark[item.dataset.at] = item.querySelector(".mark"); name[item.dataset.at] = item.querySelector(".chip").textContent; });
    if (items.length > 1) {
      legend.classList.add("live");
      items.forEach(function (item) {
        var who = item.dataset.at, button = document.createElement("button");
        button.type = "button";
        button.title = "Hide or show; with a double click, this one alone";
        while (item.firstChild) button.appendChild(item.firstChild);
        item.appendChild(button);
        button.set = function (on) {
          button.setAttribute("aria-pressed", on);
          parts(who).forEach(function (part) { part.classList.toggle("off", !on); });
        };
        button.set(true);
        button.addEventListener("click", function () { button.set(button.getAttribute("aria-pressed") !== "true"); });
        button.addEventListener("dblclick", function () {
          var all = Array.from(legend.querySelectorAll("button"));
          var alone = all.every(function (it) { return it === button || it.getAttribute("aria-pressed") !== "true"; });
          all.forEach(function (it) { it.set(alone || it === button); });
        });
        ["pointerenter", "focus", "pointerleave", "blur"].forEach(function (kind, at) {
          button.addEventListener(kind, function () {
            drawn.classList.toggle("dim", at < 2);
            parts(who).forEach(function (part) { part.classList.toggle("lit", at < 2); });
          });
        });
      });
    }
    var said = [];
    drawn.querySelectorAll("svg[role]").forEach(function (svg) {
      var size = svg.viewBox.baseVal, bars = [], lines = [], at = -1, is_wide = svg.parentNode.className !== "narrow";
      if (is_wide) said = [];
      svg.querySelectorAll("g[data-who]").forEach(function (part, at) {
        var title = part.querySelector("title"), line = part.querySelector(".l");
        if (is_wide) said.push(part.dataset.found || (title ? title.textContent : ""));
        if (title) title.remove();
        part.words = line ? name[part.dataset.who] : said[at];
        if (line) {
          var points = points_of(line.getAttribute("d"));
          said[at].split(";").forEach(function (found, at) {
            var it = found.split("|");
            if (points[at]) { points[at].place = it[0]; points[at].figure = it[1]; }
          });
          lines.push({ part: part, points: points });
        } else if (part.querySelector(".row")) bars.push(part);
      });
      var guide = lines.length && document.createElementNS(svg.namespaceURI, "path");
      if (guide) { guide.setAttribute("class", "guide"); svg.appendChild(guide); }
      var hide = function () { tip.hidden = true; if (guide) guide.removeAttribute("d"); };
      var to_page = function (x, y) {
        var box = svg.getBoundingClientRect();
        return [box.left + x * box.width / size.width, box.top + y * box.height / size.height];
      };
      var show_bar = function (part, x, y) {
        tip.textContent = "";
        part.words.split("\n").forEach(function (line, at) { add(tip, at ? "div" : "strong", line); });
        put(x, y);
      };
      var places = function () {
        var all = [];
        lines.forEach(function (line) {
          if (is_on(line.part)) line.points.forEach(function (point) { if (all.indexOf(point.x) < 0) all.push(point.x); });
        });
        return all.sort(function (a, b) { return a - b; });
      };
      /* All points at this x value, from top to bottom, with the one nearest to the pointer in bold. */
      var show_place = function (place, pointer_y, x, y) {
        var near = [];
        lines.forEach(function (line) {
          var best = is_on(line.part) && line.points.reduce(function (a, b) { return Math.abs(b.x - place) < Math.abs(a.x - place) ? b : a; });
          if (best && Math.abs(best.x - place) < 5) near.push({ line: line.part, point: best });
        });
        if (!near.length) return hide();
        near.sort(function (a, b) { return a.point.y - b.point.y; });
        var nearest = near.reduce(function (a, b) { return Math.abs(b.point.y - pointer_y) < Math.abs(a.point.y - pointer_y) ? b : a; });
        tip.textContent = "";
        var beside = near.some(function (it) { return it.point.figure.indexOf("×") > 0; }) ? " · beside the best" : "";
        add(tip, "strong", svg.dataset.x + ": " + nearest.point.place + beside);
        near.forEach(function (it) {
          var row = add(tip, "div");
          if (it === nearest && near.length > 1) row.className = "near";
          if (mark[it.line.dataset.who]) row.appendChild(mark[it.line.dataset.who].cloneNode(true));
          add(row, "span", it.line.words);
          add(row, "span", it.point.figure);
        });
        guide.setAttribute("d", "M" + place + " 32V" + (size.height - 46));
        put(x, y);
      };
      var seen = function (event) {
        var box = svg.getBoundingClientRect();
        var x = (event.clientX - box.left) * size.width / box.width, y = (event.clientY - box.top) * size.height / box.height;
        var bar = event.target.closest("g[data-who]");
        if (bar && bars.indexOf(bar) >= 0) return show_bar(bar, event.clientX, event.clientY);
        var all = places();
        if (!all.length || x < all[0] - 20 || x > all[all.length - 1] + 20 || y < 28 || y > size.height - 30) return hide();
        var place = all.reduce(function (a, b) { return Math.abs(b - x) < Math.abs(a - x) ? b : a; });
        show_place(place, y, event.clientX, event.clientY);
      };
      svg.addEventListener("pointermove", seen);
      svg.addEventListener("pointerdown", seen);
      svg.addEventListener("pointerleave", hide);
      svg.addEventListener("blur", hide);
      svg.tabIndex = 0;
      svg.addEventListener("keydown", function (event) {
        var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") hide();
        if (!step) return;
        event.preventDefault();
        var all = bars.length ? bars : places(), page;
        if (!all.length) return;
        at = (Math.max(at, step < 0 ? 0 : -1) + step + all.length) % all.length;
        if (bars.length) {
          page = all[at].querySelector(".row").getBoundingClientRect();
          return show_bar(all[at], page.left + page.width / 2, page.bottom + 4);
        }
        page = to_page(all[at], 40);
        show_place(all[at], 0, page[0], page[1]);
      });
    });
  });
  addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
})();
