/* Conveniences only: the page is complete without this script. */
(function () {
  var root = document.documentElement, button = document.getElementById("theme"), key = "arena-theme";
  var stored = function (value) {
    try { return value ? localStorage.setItem(key, value) : localStorage.getItem(key); } catch (error) { return null; }
  };
  var chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  button.hidden = false;
  button.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    stored(root.dataset.theme);
  });
  document.querySelectorAll("table.sortable thead th.number").forEach(function (head) {
    var order = document.createElement("button");
    order.type = "button";
    while (head.firstChild) order.appendChild(head.firstChild);
    head.appendChild(order);
    order.addEventListener("click", function () {
      var down = head.getAttribute("aria-sort") !== "descending", at = head.cellIndex, body = head.closest("table").tBodies[0];
      head.parentNode.querySelectorAll("[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      var worth = function (row) {
        var n = parseFloat(row.cells[at].firstChild.textContent.replace("−", "-").replace(/[^0-9.-]/g, ""));
        return isNaN(n) ? (down ? -Infinity : Infinity) : n;
      };
      Array.from(body.rows).sort(function (a, b) { return down ? worth(b) - worth(a) : worth(a) - worth(b); })
        .forEach(function (row) { body.appendChild(row); });
    });
  });
  var opened = [];
  addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach(function (it) { it.open = true; });
  });
  addEventListener("afterprint", function () { opened.forEach(function (it) { it.open = false; }); });
  var unfold = function () {
    var it = location.hash && document.getElementById(location.hash.slice(1));
    if (it && it.tagName === "DETAILS") it.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
