// A chart over time in SVG: curves, a band, a limit. All charts of a page share one crosshair.

import { clock, h, s } from "./words.js";

/** Margins of the plot, for the labels. */
const LEFT = 58;
const RIGHT = 6;
const BOTTOM = 20;
const TOP = 8;
/** Least distance of two points; nearer ones are merged. */
const POINT_PX = 4.5;
/** Seconds that one point may stand for. */
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
/** Share of a limit from which on the chart shows the limit. */
const NEAR_LIMIT = 0.6;

/** Time at the pointer; null is the last point. */
let pointed = null;
const charts = new Set();

export class Chart {
  /**
   * options: title; about (a sentence); format (a number as text); scale ("linear" or "log"); unit (what the round
   * numbers of an axis count, for its greatest value); floor (the axis reaches to this at least); skipsZero (0 means
   * that nothing was measured);
   * series: [{ key (a column) or of (a number for an index), name, mark (a CSS colour), kind, merge }]. Kinds are
   * "line" and "thin"; "area", down to the axis; "band", down to the series before it; "context", which is drawn only if the
   * axis reaches it without making the others flat; "limit", the same, dashed. merge says what several points become:
   * "max" or "mean".
   */
  constructor(host, options) {
    this.options = options;
    this.points = null;
    this.entries = options.series.map((series) => {
      const value = h("b", {}, "–");
      const entry = h("span", { class: series.kind }, h("i", {}), `${series.name} `, value);
      entry.style.setProperty("--mark", series.mark);
      return { entry, value };
    });
    const legend = h("span", { class: "legend" }, ...this.entries.map(({ entry }) => entry));
    this.plot = s("svg", { class: "plot", role: "img" });
    const title = h("b", { title: options.about }, options.title);
    host.append(h("figure", {}, h("figcaption", {}, title, legend), this.plot));
    this.plot.addEventListener("pointermove", (event) => point(this.timeAt(event.offsetX)));
    this.plot.addEventListener("pointerleave", () => point(null));
    new ResizeObserver(() => this.gather()).observe(this.plot);
    charts.add(this);
  }

  /** Sets the columns of the API and the shown span in milliseconds. */
  update(columns, from, to) {
    Object.assign(this, { columns, from, to });
    this.gather();
  }

  timeAt(x) {
    return this.from + ((x - LEFT) / (this.plot.clientWidth - LEFT - RIGHT)) * (this.to - this.from);
  }

  /** Merges the columns into distinguishable points and draws them. */
  gather() {
    const width = this.plot.clientWidth - LEFT - RIGHT;
    if (!this.columns || width <= 0) return;
    const { at_ms: times, step_s: stepS } = this.columns;
    const least = ((this.to - this.from) / 1000 / width) * POINT_PX;
    const seconds = Math.max(stepS, STEPS_S.find((one) => one >= least) ?? least);
    const span = seconds * 1000;
    const groups = [];
    for (let i = 0; i < times.length; i++) {
      if (times[i] < this.from - span) continue;
      // Groups are fixed in time, so that the curves do not flicker as time passes.
      const number = Math.floor(times[i] / span);
      // After the server's clock is set back, some times come a second time: the new points replace the old ones.
      while (groups.length && groups[groups.length - 1].number > number) groups.pop();
      const last = groups[groups.length - 1];
      if (last?.number === number) last.indexes.push(i);
      else groups.push({ number, indexes: [i] });
    }
    const last = times[times.length - 1];
    this.points = groups.map(({ number, indexes }) => ({
      at: Math.min((number + 0.5) * span, last),
      values: this.options.series.map((series) => this.merged(series, indexes)),
    }));
    this.gap = Math.max(span * 1.5, stepS * 3500);
    this.span = span;
    this.draw();
  }

  merged({ key, of, merge }, indexes) {
    const read = of ?? ((columns, i) => columns[key][i]);
    let values = indexes.map((i) => read(this.columns, i)).filter((value) => value !== null);
    if (this.options.skipsZero) values = values.filter((value) => value > 0);
    if (!values.length) return null;
    if (merge === "mean") return values.reduce((sum, value) => sum + value, 0) / values.length;
    return Math.max(...values);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (!this.points || !width || !height) return;
    const { series, format } = this.options;
    const { points } = this;
    const x = (at) => LEFT + ((at - this.from) / (this.to - this.from)) * (width - LEFT - RIGHT);
    const reach = this.reach();
    const scale = this.scale(reach, height);
    const parts = [];
    for (const tick of scale.ticks) {
      const y = Math.round(scale.y(tick)) + 0.5;
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }));
      parts.push(s("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, tick === 0 ? "0" : short(format(tick))));
    }
    const base = Math.round(height - BOTTOM) + 0.5;
    // A nested SVG clips what is before the first moment.
    const inner = Math.max(1, width - LEFT);
    const place = { x: LEFT, y: 0, width: inner, height, viewBox: `${LEFT} 0 ${inner} ${height}` };
    const curves = s("svg", place);
    series.forEach((one, i) => reach[i] && curves.append(...this.curve(i, x, scale.y, base)));
    parts.push(curves, s("line", { class: "base", x1: LEFT, x2: width, y1: base, y2: base }));
    parts.push(...this.timeTicks(x, width, height));
    const at = this.nearest();
    if (at >= 0) {
      const shown = points[at];
      if (pointed !== null) parts.push(...this.crosshair(x(shown.at), shown.at, base, width, height));
      series.forEach((one, i) => {
        if (!reach[i] || shown.values[i] === null || one.kind === "limit") return;
        const dot = s("circle", { class: "dot", cx: x(shown.at), cy: scale.y(shown.values[i]), r: 3 });
        dot.style.setProperty("--mark", one.mark);
        parts.push(dot);
      });
    }
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot.replaceChildren(...parts);
    this.showLegend(at, reach);
    this.describe();
  }

  showLegend(at, reach) {
    this.options.series.forEach((one, i) => {
      const { entry, value } = this.entries[i];
      const number = at >= 0 ? this.points[at].values[i] : null;
      value.textContent = number === null ? "–" : this.options.format(number);
      entry.classList.toggle("above", !reach[i]);
      entry.title = reach[i] ? "" : "higher than the top of this chart";
      entry.hidden = one.isOptional && this.most(i) === 0;
    });
  }

  crosshair(x, at, base, width, height) {
    const hair = Math.round(x) + 0.5;
    const label = clock(at, this.span < 60e3);
    const half = label.length * 3.4 + 4;
    const middle = Math.min(Math.max(hair, LEFT + half), width - half);
    return [
      s("line", { class: "hair", x1: hair, x2: hair, y1: TOP, y2: base }),
      s("rect", { class: "tag", x: middle - half, y: base + 2, width: half * 2, height: height - base - 2, rx: 3 }),
      s("text", { class: "at", x: middle, y: height - 5, "text-anchor": "middle" }, label),
    ];
  }

  /** The point at the pointer, or the last one. */
  nearest() {
    const { points } = this;
    if (pointed === null) return points.length - 1;
    let best = points.length - 1;
    points.forEach((one, i) => {
      if (Math.abs(one.at - pointed) < Math.abs(points[best].at - pointed)) best = i;
    });
    return best;
  }

  /** The greatest value of a series. */
  most(i) {
    return this.points.reduce((most, { values }) => Math.max(most, values[i] ?? 0), 0);
  }

  /** The series that determine the axis. */
  reach() {
    const { series, floor } = this.options;
    const isContext = ({ kind }) => kind === "context" || kind === "limit";
    const most = series.map((_, i) => this.most(i));
    const own = Math.max(floor, ...most.filter((_, i) => !isContext(series[i])));
    const limit = Math.max(0, ...most.filter((_, i) => series[i].kind === "limit"));
    const used = Math.max(own, ...most.filter((_, i) => series[i].kind === "context"));
    const isNear = limit > 0 && used >= limit * NEAR_LIMIT;
    return series.map((one, i) => !isContext(one) || (most[i] > 0 && (isNear || most[i] <= own * 2.5)));
  }

  scale(reach, height) {
    const { floor, scale } = this.options;
    let most = floor;
    let least = Infinity;
    for (const { values } of this.points) {
      values.forEach((value, i) => {
        if (!reach[i] || value === null) return;
        most = Math.max(most, value);
        if (value > 0) least = Math.min(least, value);
      });
    }
    const bottom = height - BOTTOM;
    const room = bottom - TOP;
    if (scale === "log") {
      const low = Math.floor(Math.log10(Math.max(0.1, Math.min(least, most / 100))) + 1e-9);
      const high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
      const y = (value) => {
        const part = (Math.log10(Math.max(value, 1e-9)) - low) / (high - low);
        return bottom - Math.max(0, Math.min(1, part)) * room;
      };
      const ticks = [];
      for (let power = low; power <= high; power++) ticks.push(10 ** power);
      return { y, ticks };
    }
    const unit = this.options.unit?.(most) ?? 1;
    const step = nice(most / 3 / unit) * unit;
    const top = Math.ceil(most / step - 1e-9) * step;
    const ticks = [];
    for (let tick = 0; tick <= top + step / 100; tick += step) ticks.push(tick);
    return { y: (value) => bottom - (value / top) * room, ticks };
  }

  curve(number, x, y, base) {
    const one = this.options.series[number];
    const pieces = [];
    let before = null;
    for (const { at, values } of this.points) {
      const value = values[number];
      if (value === null) continue;
      if (before === null || at - before > this.gap) pieces.push([]);
      before = at;
      const lower = one.kind === "band" ? y(values[number - 1]) : base;
      pieces[pieces.length - 1].push({ x: x(at), y: y(value), lower });
    }
    const parts = [];
    const add = (element) => {
      element.style.setProperty("--mark", one.mark);
      parts.push(element);
    };
    for (const piece of pieces) {
      // A single point is drawn wide enough to be visible.
      const [first] = piece;
      const points = piece.length > 1 ? piece : [{ ...first, x: first.x - 1.5 }, { ...first, x: first.x + 1.5 }];
      const path = (list) => list.map((it) => `${it[0].toFixed(1)} ${it[1].toFixed(1)}`).join("L");
      const line = path(points.map((it) => [it.x, it.y]));
      if (one.kind === "area" || one.kind === "band") {
        const back = path(points.map((it) => [it.x, it.lower]).reverse());
        add(s("path", { class: one.kind, d: `M${line}L${back}Z` }));
      }
      const names = { band: "line edge", limit: "line limit", context: "line thin", thin: "line thin" };
      add(s("path", { class: names[one.kind] ?? "line", d: `M${line}` }));
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
      if (place > LEFT + 16 && place < width - 18) {
        parts.push(s("text", { x: place, y: height - 5, "text-anchor": "middle" }, clock(at, false)));
      }
    }
    return parts;
  }

  /** Text for screen readers. */
  describe() {
    const { title, series, format } = this.options;
    const words = series.map(({ name }, i) => {
      const last = this.points[this.points.length - 1]?.values[i];
      if (last === undefined || last === null) return `${name}: nothing now`;
      return `${name}: ${format(last)} now, ${format(this.most(i))} at most`;
    });
    this.plot.setAttribute("aria-label", `${title}. ${words.join("; ")}`);
  }
}

function point(at) {
  pointed = at;
  for (const chart of charts) chart.draw();
}

/** The least number of 1, 2 or 5 times a power of ten that is not less than this. */
function nice(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough - 1e-9) ?? rough;
}

/** Removes trailing zeros: 1.00 s is 1 s. */
function short(text) {
  return text.replace(/\.0+(?= )/, "").replace(/(\.\d*[1-9])0+(?= )/, "$1");
}
