// Asks the server each second what it does, and shows it. Everything comes from the documented API; this page can only
// look.

import { Chart } from "./chart.js";
import { ago, h, lasting, number, size, time } from "./words.js";

const EACH_MS = 1000;
/** A request that runs longer than the first is worth a look, longer than the second a worry. */
const LONG_MS = 1000;
const TOO_LONG_MS = 10000;
/** More rows than this nobody reads. */
const ROWS = 25;

const $ = (id) => document.getElementById(id);
const state = { app: null, step: "second", seconds: 900, past: new Map(), since: null, seen: null, shown: new Map() };

const charts = [
  new Chart($("charts"), {
    title: "Queue",
    format: number,
    floor: 3,
    series: [
      { key: "queued", name: "waiting", mark: "var(--c1)", area: true },
    ],
  }),
  new Chart($("charts"), {
    title: "Times",
    format: time,
    scale: "log",
    floor: 10,
    series: [
      { key: "queue_p99_ms", name: "wait p99", mark: "var(--c1)", thin: true },
      { key: "p50_ms", name: "run p50", mark: "var(--c2)" },
      { key: "p95_ms", name: "p95", mark: "var(--c0)" },
      { key: "p99_ms", name: "p99", mark: "var(--c3)" },
    ],
  }),
  new Chart($("charts"), {
    title: "Requests per second",
    format: number,
    floor: 3,
    series: [
      { key: "rate", name: "requests", mark: "var(--c0)", area: true },
      { key: "error_rate", name: "errors", mark: "var(--bad)", area: true },
    ],
  }),
  new Chart($("charts"), {
    title: "Places",
    format: number,
    floor: 3,
    series: [
      { key: "busy", name: "busy", mark: "var(--c2)", area: true },
      { key: "capacity", name: "there are", mark: "var(--quiet)", thin: true },
    ],
  }),
];

async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(5000), cache: "no-store" });
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error ?? answer.statusText), { status: answer.status });
  return value;
}

/** Adds what is new to what is known of the past. */
async function askHistory() {
  const step = state.step;
  const known = state.past.get(step) ?? new Map();
  const from = known.size ? Math.min(...[...known.values()].map((past) => past.next)) : 0;
  const { apps } = await ask(`v1/history?step=${step}&from=${from}`);
  for (const fresh of apps) {
    const past = known.get(fresh.app);
    if (!past || fresh.from > past.next || fresh.next < past.next) {
      known.set(fresh.app, fresh);
      continue;
    }
    const skip = past.next - fresh.from;
    const drop = Math.max(0, past.at_ms.length + fresh.at_ms.length - skip - 1500);
    for (const [name, values] of Object.entries(fresh)) {
      if (Array.isArray(values)) past[name] = past[name].slice(drop).concat(values.slice(skip));
    }
    past.next = fresh.next;
  }
  state.past.set(step, known);
}

async function look() {
  try {
    const [status, recorder, deploys] = await Promise.all([ask("v1/status"), ask("v1/recorder"), ask("v1/deploys")]);
    const since = `${status.server.pid} ${status.server.since_ms}`;
    if (state.since !== since) state.past.clear();
    state.since = since;
    await askHistory();
    state.seen = Date.now();
    show(status, recorder, deploys);
  } catch (error) {
    showTrouble(error);
  }
  document.body.dataset.looked = String(Number(document.body.dataset.looked ?? 0) + 1);
}

function show(status, recorder, deploys) {
  const names = status.apps.map((app) => app.name);
  if (!names.includes(state.app)) state.app = names[0];
  const of = (list) => list.apps.find((app) => app.name === state.app);
  const app = of(status);
  showServer(status.server);
  showApps(status.apps);
  showBanners(status.server, app);
  showTiles(app, status.server);
  showCharts();
  showWorkers(app);
  once("failed", of(recorder).failed, (rows) => showPast($("failed"), rows, "nothing has failed"));
  once("slow", of(recorder).slow, (rows) => showPast($("slow"), rows, "nothing was slow"));
  once("deploys", of(deploys).deploys, showDeploys);
  for (const element of document.querySelectorAll("[data-at]")) element.textContent = ago(Number(element.dataset.at));
}

/** Draws only what has changed, so that what somebody reads, has opened or marked stays as it is. */
function once(name, value, draw) {
  const text = `${state.app} ${JSON.stringify(value)}`;
  if (state.shown.get(name) === text) return;
  state.shown.set(name, text);
  draw(value);
}

function showServer(server) {
  const marks = { serving: "good", draining: "warn", starting: "warn" };
  pill($("state"), server.state, marks[server.state] ?? "bad");
  const { open } = server.connections;
  $("facts").textContent = [
    server.version,
    `process ${server.pid}`,
    `up ${lasting(server.uptime_s)}`,
    `${number(open)} ${open === 1 ? "connection" : "connections"}`,
    server.listeners.join(", "),
  ].join(" · ");
  $("seen").textContent = "";
}

function pill(element, words, mark) {
  element.textContent = words;
  element.className = `pill ${mark}`;
}

function showApps(apps) {
  $("apps").hidden = apps.length < 2;
  $("apps").replaceChildren(
    ...apps.map((app) => {
      const isBad = app.last_deploy?.outcome === "failed" || app.recent.errors_per_s > 0;
      const mark = isBad ? "bad" : app.is_paused || app.queued > 0 ? "warn" : "";
      const attributes = { type: "button", class: mark, "aria-pressed": String(app.name === state.app) };
      const button = h("button", attributes, app.name);
      button.addEventListener("click", () => {
        state.app = app.name;
        look();
      });
      return button;
    }),
  );
}

function showBanners(server, app) {
  const banners = [];
  const note = (title, words) => banners.push(h("p", { class: "banner" }, h("b", {}, title), ` ${words}`));
  if (server.state === "draining") note("The server is ending.", "Load balancers are told; what runs is finished.");
  if (app.is_paused) note("Requests are held back.", `${number(app.queued)} wait; foolsgold resume lets them go on.`);
  if (app.is_reloading) note("New code is being loaded.", `Generation ${app.generation} serves meanwhile.`);
  const deploy = app.last_deploy;
  if (deploy?.outcome === "failed") {
    const title = h("b", {}, `Generation ${deploy.generation} could not be brought to life`);
    const when = h("span", { "data-at": deploy.at_ms });
    const words = `. Generation ${app.generation} goes on.`;
    banners.push(h("div", { class: "banner bad" }, title, " ", when, words, h("pre", {}, deploy.error ?? "")));
  }
  once("banners", banners.map((banner) => banner.outerHTML), () => $("banners").replaceChildren(...banners));
}

function showTiles(app, server) {
  const { recent } = app;
  const [p99, unit] = time(recent.service.p99_ms).split(" ");
  const pss = [...app.workers, ...app.molds].reduce((sum, one) => sum + (one.pss_kib ?? 0), 0);
  const own = server.process.pss_kib ?? server.process.rss_kib ?? 0;
  const [memory, memoryUnit] = size(pss + own).split(" ");
  const faults = Object.entries(app.faults).sort((one, other) => other[1] - one[1]);
  const failed = faults.map(([name, count]) => `${number(count)} ${spaced(name)}`).join(", ");
  const isFailing = recent.errors_per_s > 0 ? "bad" : "";
  const waited = app.queued ? `the first for ${time(app.oldest_wait_ms)}` : `p99 ${time(recent.queue.p99_ms)}`;
  $("tiles").replaceChildren(
    tile("Requests", number(recent.requests_per_s), "/s", `${number(app.served)} since the start`),
    tile("Errors", number(recent.errors_per_s), "/s", failed || "none since the start", isFailing),
    tile("Waiting", number(app.queued), "", waited, app.queued ? "warn" : ""),
    tile("Busy", number(app.capacity - app.idle), `of ${number(app.capacity)}`, `generation ${app.generation}`),
    tile("Answered in", p99, `${unit} p99`, `half of them in ${time(recent.service.p50_ms)}`),
    tile("Memory", memory, memoryUnit, pss ? `${size(own)} of it the server` : "server and interpreters"),
  );
}

function tile(name, big, unit, sub, mark = "") {
  const value = h("dd", { class: "big" }, big, unit ? h("small", {}, unit) : null);
  return h("dl", { class: `tile ${mark}` }, h("dt", {}, name), value, h("dd", { class: "sub", title: sub }, sub));
}

function showCharts() {
  const past = state.past.get(state.step)?.get(state.app);
  if (!past) return;
  const to = Date.now();
  for (const chart of charts) chart.update(past, to - state.seconds * 1000, to);
}

const WORKER_MARKS = { ready: "good", booting: "warn", draining: "warn", out_of_band: "warn", hung: "bad" };

function showWorkers(app) {
  const body = $("workers").querySelector("tbody");
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && body.contains(selection.anchorNode)) return;
  const { pool } = app;
  const parts = [app.runtime];
  if (pool.min !== pool.max) parts.push(`${pool.wanted} wanted, ${pool.min} to ${pool.max}`);
  if (app.leaving.length) parts.push(`generation ${app.leaving.join(", ")} finishes what it has`);
  $("pool").textContent = parts.filter(Boolean).join(" · ");
  const rows = app.workers.map((worker) => {
    const cell = (name, words) => h("td", { class: "n", "data-name": name }, words);
    const mark = h("span", {});
    pill(mark, spaced(worker.state), WORKER_MARKS[worker.state] ?? "");
    return h(
      "tr",
      { class: worker.running.length ? null : "idle" },
      cell("worker", String(worker.id)),
      cell("process", worker.pid ? String(worker.pid) : "–"),
      h("td", {}, mark),
      cell("served", number(worker.served)),
      cell("age", lasting(worker.age_s)),
      cell("memory", worker.pss_kib ? size(worker.pss_kib) : "–"),
      h("td", { class: "runs" }, ...runs(worker)),
    );
  });
  if (!rows.length) {
    rows.push(h("tr", { class: "idle" }, h("td", { colspan: "7" }, "none: the next request starts one")));
  }
  body.replaceChildren(...rows);
}

function runs(worker) {
  if (!worker.running.length) {
    return [h("span", { class: "more" }, worker.threads > 1 ? `${worker.threads} threads idle` : "idle")];
  }
  return worker.running.map((run) => {
    const mark = run.age_ms > TOO_LONG_MS ? "bad" : run.age_ms > LONG_MS ? "warn" : "";
    const title = `${run.path} (${run.id})`;
    return h("div", { class: `run ${mark}` }, request(run, title), h("span", { class: "age" }, time(run.age_ms)));
  });
}

function request(of, title) {
  return h("code", { title }, h("span", { class: "verb" }, of.method), ` ${of.path}`);
}

function showPast(host, rows, none) {
  const open = new Set([...host.querySelectorAll("details[open]")].map((one) => one.dataset.key));
  const elements = rows.slice(0, ROWS).map((past) => {
    const key = `${past.id} ${past.at_ms}`;
    const isBad = !past.status || past.status >= 500;
    const words = past.status ? String(past.status) : spaced(past.fault);
    const status = h("span", { class: `status ${isBad ? "bad" : ""}` }, words);
    const took = h("span", { class: "took" }, status, ` ${time(past.took_ms)}`);
    const when = h("span", { class: "when", "data-at": past.at_ms });
    const summary = h("summary", {}, when, request(past, past.path), took);
    return h("details", { class: "row", "data-key": key, open: open.has(key) }, summary, pastBody(past));
  });
  host.replaceChildren(...(elements.length ? elements : [h("p", {}, none)]));
}

function pastBody(past) {
  const process = past.pid ? ` (process ${past.pid})` : "";
  const who = past.worker === null ? "no worker ran it" : `worker ${past.worker}${process}`;
  const why = [spaced(past.fault), past.why].filter(Boolean).join(": ");
  const facts = `waited ${time(past.queued_ms)}, ran ${time(past.took_ms)} · ${who} · request ${past.id}`;
  const trace = past.backtrace.length ? h("pre", {}, past.backtrace.join("\n")) : null;
  return h("div", { class: "body" }, why ? h("p", { class: "why" }, why) : null, h("p", {}, facts), trace);
}

function showDeploys(rows) {
  const words = { started: "the server started with it", live: "took over", failed: "failed" };
  const elements = rows.slice(0, ROWS).map((deploy) => {
    const isBad = deploy.outcome === "failed";
    const title = new Date(deploy.at_ms).toString();
    const outcome = h("span", { class: isBad ? "status bad" : "quiet" }, words[deploy.outcome] ?? deploy.outcome);
    const head = h(
      "div",
      { class: "head" },
      h("span", { class: "when", "data-at": deploy.at_ms, title }),
      h("span", {}, h("b", {}, `Generation ${deploy.generation}`), " ", outcome),
      h("span", { class: "took quiet" }, `${isBad ? "after" : "loaded in"} ${time(deploy.took_ms)}`),
    );
    const error = deploy.error ? h("div", { class: "body" }, h("pre", {}, deploy.error)) : null;
    return h("div", { class: "row" }, head, error);
  });
  $("deploys").replaceChildren(...elements);
}

/** Names of the API, for people. */
function spaced(name) {
  return name.replaceAll("_", " ");
}

function showTrouble(error) {
  if (error.status === 503) {
    pill($("state"), "starting", "warn");
    $("facts").textContent = error.message;
    return;
  }
  pill($("state"), "not reachable", "bad");
  const seen = state.seen ? `last seen ${ago(state.seen)}` : "never seen";
  $("seen").textContent = `${seen}: ${error.message}`;
}

function chooseRange(button) {
  for (const one of $("range").children) one.setAttribute("aria-pressed", String(one === button));
  state.step = button.dataset.step;
  state.seconds = Number(button.dataset.seconds);
  look();
}

for (const button of $("range").children) button.addEventListener("click", () => chooseRange(button));
document.addEventListener("visibilitychange", () => document.hidden || look());

async function forever() {
  for (;;) {
    if (!document.hidden) await look();
    await new Promise((done) => setTimeout(done, EACH_MS));
  }
}
forever();
