// A line chart over time, as an SVG. All charts of a page share one crosshair.

import { clock, h, s } from "./words.js";

/** Room around the curves, so that a dot at the edge is whole. */
const LEFT = 0;
const RIGHT = 4;
const BOTTOM = 18;
const TOP = 8;
/** The moment that the pointer is at; null is the last one. */
let pointed = null;
const charts = new Set();

export class Chart {
  /**
   * options: title; format (a number as text); scale ("linear" or "log"); floor (the axis reaches to this at least);
   * series: [{ key, name, mark (a CSS colour), area, thin }].
   */
  constructor(host, options) {
    this.options = options;
    this.data = null;
    this.legend = h("span", { class: "legend" });
    this.values = options.series.map((series) => {
      const value = h("b", {}, "–");
      const entry = h("span", {}, h("i", {}), `${series.name} `, value);
      entry.style.setProperty("--mark", series.mark);
      this.legend.append(entry);
      return value;
    });
    this.plot = s("svg", { class: "plot", role: "img" });
    host.append(h("figure", {}, h("figcaption", {}, h("b", {}, options.title), this.legend), this.plot));
    this.plot.addEventListener("pointermove", (event) => point(this.timeAt(event.offsetX)));
    this.plot.addEventListener("pointerleave", () => point(null));
    new ResizeObserver(() => this.draw()).observe(this.plot);
    charts.add(this);
  }

  /** columns as the API gives them; the span of time that is shown, in milliseconds. */
  update(columns, from, to) {
    this.data = columns;
    this.from = from;
    this.to = to;
    this.draw();
  }

  timeAt(x) {
    return this.from + ((x - LEFT) / (this.plot.clientWidth - LEFT - RIGHT)) * (this.to - this.from);
  }

  draw() {
    const width = this.plot.clientWidth;
    const height = this.plot.clientHeight;
    if (!this.data || !width || !height) return;
    const { series, format } = this.options;
    const times = this.data.at_ms;
    const first = Math.max(0, times.findIndex((at) => at >= this.from) - 1);
    const shown = times.length && times[times.length - 1] >= this.from ? first : times.length;
    const x = (at) => LEFT + ((at - this.from) / (this.to - this.from)) * (width - LEFT - RIGHT);
    const scale = this.scale(shown, height);
    const parts = [];
    for (const tick of scale.ticks) {
      const y = Math.round(scale.y(tick)) + 0.5;
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }));
    }
    const base = Math.round(height - BOTTOM) + 0.5;
    parts.push(...this.timeTicks(x, width, height));
    for (const one of series) parts.push(...this.curve(one, shown, x, scale.y, base));
    parts.push(s("line", { class: "base", x1: LEFT, x2: width, y1: base, y2: base }));
    for (const tick of scale.ticks) {
      parts.push(s("text", { x: LEFT + 2, y: Math.round(scale.y(tick)) - 4 }, format(tick)));
    }
    const at = this.nearest(shown);
    if (pointed !== null && at >= 0) {
      const hair = Math.round(x(times[at])) + 0.5;
      parts.push(s("line", { class: "hair", x1: hair, x2: hair, y1: TOP, y2: base }));
      const label = clock(times[at], this.data.step_s < 60);
      const isRight = hair > width - 60;
      const anchor = isRight ? "end" : "start";
      parts.push(s("text", { x: hair + (isRight ? -5 : 5), y: TOP + 9, "text-anchor": anchor }, label));
    }
    if (at >= 0) {
      for (const one of series) {
        const dot = s("circle", { class: "dot", cx: x(times[at]), cy: scale.y(this.data[one.key][at]), r: 3 });
        dot.style.setProperty("--mark", one.mark);
        parts.push(dot);
      }
    }
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot.replaceChildren(...parts);
    series.forEach((one, i) => (this.values[i].textContent = at >= 0 ? format(this.data[one.key][at]) : "–"));
    this.describe(shown);
  }

  /** The point that is pointed at, or the last. */
  nearest(shown) {
    const times = this.data.at_ms;
    const last = times.length - 1;
    if (last < shown) return -1;
    if (pointed === null) return last;
    let best = last;
    for (let i = shown; i <= last; i++) {
      if (Math.abs(times[i] - pointed) < Math.abs(times[best] - pointed)) best = i;
    }
    return best;
  }

  scale(shown, height) {
    const { series, floor, scale } = this.options;
    let most = floor;
    let least = Infinity;
    for (const { key } of series) {
      const values = this.data[key];
      for (let i = shown; i < values.length; i++) {
        if (values[i] > most) most = values[i];
        if (values[i] > 0 && values[i] < least) least = values[i];
      }
    }
    const room = height - BOTTOM - TOP - 14;
    const bottom = height - BOTTOM;
    if (scale === "log") {
      const low = Math.floor(Math.log10(Math.max(0.1, Math.min(least, most / 100))));
      const high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
      const y = (value) => {
        if (!(value > 0)) return bottom;
        const part = (Math.log10(value) - low) / (high - low);
        return bottom - Math.max(0, Math.min(1, part)) * room;
      };
      const ticks = [];
      for (let power = low + 1; power <= high; power++) ticks.push(10 ** power);
      return { y, ticks: ticks.length > 4 ? ticks.filter((_, i) => (ticks.length - 1 - i) % 2 === 0) : ticks };
    }
    const step = nice(most / 3);
    const top = Math.ceil(most / step - 1e-9) * step;
    const ticks = [];
    for (let tick = step; tick <= top + step / 100; tick += step) ticks.push(tick);
    return { y: (value) => bottom - (value / top) * room, ticks };
  }

  curve(one, shown, x, y, base) {
    const times = this.data.at_ms;
    const values = this.data[one.key];
    const gap = this.data.step_s * 3500;
    const pieces = [];
    let piece = null;
    for (let i = shown; i < times.length; i++) {
      if (!piece || times[i] - times[i - 1] > gap) pieces.push((piece = []));
      piece.push(`${x(times[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`);
    }
    const parts = [];
    const add = (element) => {
      element.style.setProperty("--mark", one.mark);
      parts.push(element);
    };
    for (const points of pieces) {
      const [start] = points[0].split(" ");
      const [end] = points[points.length - 1].split(" ");
      const line = `M${points.join("L")}`;
      if (one.area) add(s("path", { class: "area", d: `${line}L${end} ${base}L${start} ${base}Z` }));
      add(s("path", { class: one.thin ? "line thin" : "line", d: line }));
    }
    return parts;
  }

  timeTicks(x, width, height) {
    const span = this.to - this.from;
    const steps = [60e3, 120e3, 300e3, 900e3, 3600e3, 3 * 3600e3, 6 * 3600e3];
    const step = steps.find((one) => (width * one) / span >= 70) ?? 12 * 3600e3;
    const zone = new Date(this.to).getTimezoneOffset() * 60e3;
    const parts = [];
    for (let at = Math.ceil((this.from - zone) / step) * step + zone; at < this.to; at += step) {
      const place = x(at);
      if (place > 18 && place < width - 18) {
        parts.push(s("text", { x: place, y: height - 4, "text-anchor": "middle" }, clock(at, false)));
      }
    }
    return parts;
  }

  /** For those who hear the page. */
  describe(shown) {
    const { title, series, format } = this.options;
    const words = series.map(({ key, name }) => {
      const values = this.data[key].slice(shown);
      if (!values.length) return `${name}: nothing yet`;
      return `${name}: ${format(values[values.length - 1])} now, ${format(Math.max(...values))} at most`;
    });
    this.plot.setAttribute("aria-label", `${title}. ${words.join("; ")}`);
  }
}

function point(at) {
  pointed = at;
  for (const chart of charts) chart.draw();
}

/** 1, 2 or 5 times a power of ten, not less than this. */
function nice(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough - 1e-9) ?? rough;
}
