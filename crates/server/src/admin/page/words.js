// Formats numbers and times, and makes elements whose text is never parsed as markup.

/** Formats milliseconds: 0.3 ms, 12 ms, 1.20 s, 3 min, 2 h. */
export function time(ms) {
  if (!(ms > 0)) return "0 ms";
  if (ms < 10) return `${ms.toFixed(ms < 1 ? 2 : 1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  return lasting(s);
}

/** Formats a duration in seconds: 12 s, 3 min 20 s, 2 h 13 min, 4 d 1 h. */
export function lasting(seconds) {
  const s = Math.floor(seconds);
  const two = (big, unit, small, smaller) => (small ? `${big} ${unit} ${small} ${smaller}` : `${big} ${unit}`);
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

/** Formats KiB: 812 KiB, 45.2 MiB, 1.20 GiB. */
export function size(kib) {
  if (kib < 1024) return `${Math.round(kib)} KiB`;
  if (kib < 1024 * 1024) return `${(kib / 1024).toFixed(kib < 100 * 1024 ? 1 : 0)} MiB`;
  return `${(kib / 1024 / 1024).toFixed(2)} GiB`;
}

/** Formats a number with few digits: 0, 0.5, 12.3, 1 204, 98 k. */
export function number(n) {
  if (!n) return "0";
  if (n < 1) return n.toFixed(2).replace(/0$/, "");
  if (n < 100) return n.toFixed(1).replace(/\.0$/, "");
  if (n < 100000) return Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
  return n < 1e6 ? `${Math.round(n / 1000)} k` : `${(n / 1e6).toFixed(1)} M`;
}

/** Milliseconds by which the server's clock, which gives the API its times, is ahead of the browser's. */
let ahead = 0;

/** Takes the server's clock from the Date header of a response, which has whole seconds. */
export function noteClock(date) {
  const seen = Date.parse(date) + 500 - Date.now();
  // A smaller difference may come from the rounding, and from the time that the response took.
  if (Math.abs(seen - ahead) > 2000) ahead = seen;
}

/** The time by the server's clock. */
export function now() {
  return Date.now() + ahead;
}

/** Formats a moment relative to now. */
export function ago(ms) {
  const s = (now() - ms) / 1000;
  if (s < 2) return "now";
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

/** Formats a time of day. */
export function clock(ms, withSeconds) {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (withSeconds) options.second = "2-digit";
  return new Date(ms).toLocaleTimeString([], options);
}

/** Makes an element: h("p", { class: "x" }, "text", child). Null children are left out. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** Makes an SVG element, likewise. */
export function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}
