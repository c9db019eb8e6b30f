// Requests the server's status each second and shows it. Everything comes from the documented API; this page is
// read-only.

import { Chart } from "./chart.js";
import { ago, h, lasting, noteClock, now, number, size, time } from "./words.js";

const EACH_MS = 1000;
/** A request that runs longer than the first is marked as long, longer than the second as too long. */
const LONG_MS = 1000;
const TOO_LONG_MS = 10000;
/** Most rows of a table. */
const ROWS = 25;

const $ = (id) => document.getElementById(id);
const state = { app: null, step: "second", seconds: 900, past: new Map(), since: null, seen: null, shown: new Map() };

const failedRate = (columns, i) => Math.max(0, columns.error_rate[i] - columns.refused_rate[i]);

const charts = [
  new Chart($("charts"), {
    title: "Answered per second",
    about: "Requests that were answered with a status below 500.",
    format: number,
    floor: 3,
    series: [{ key: "answered_rate", name: "requests", mark: "var(--c0)", kind: "area", merge: "mean" }],
  }),
  new Chart($("charts"), {
    title: "Failed and refused per second",
    about: "Failed: an exception, a time-out, a status of 500 and more, and the like. Refused: no worker had time for them.",
    format: number,
    floor: 3,
    series: [
      { key: "refused_rate", name: "refused", mark: "var(--c4)", kind: "area", merge: "mean" },
      { of: failedRate, name: "failed", mark: "var(--bad)", kind: "area", merge: "mean" },
    ],
  }),
  new Chart($("charts"), {
    title: "Time in the application",
    about: "How long the application took, without the time in the queue. Half of the requests lie below the line, 99 of 100 within the band.",
    format: time,
    scale: "log",
    floor: 10,
    skipsZero: true,
    series: [
      { key: "p50_ms", name: "median", mark: "var(--c2)", kind: "line", merge: "mean" },
      { key: "p99_ms", name: "p99", mark: "var(--c2)", kind: "band", merge: "max" },
    ],
  }),
  new Chart($("charts"), {
    title: "Time in the queue",
    about: "How long requests waited for a worker before they ran: 99 of 100 waited no longer.",
    format: time,
    scale: "log",
    floor: 10,
    skipsZero: true,
    series: [{ key: "queue_p99_ms", name: "p99", mark: "var(--c1)", kind: "area", merge: "max" }],
  }),
  new Chart($("charts"), {
    title: "Running and waiting",
    about: "Requests that the application runs, how many it can run at once, and requests in the queue.",
    format: number,
    floor: 3,
    series: [
      { key: "queued", name: "waiting", mark: "var(--c1)", kind: "area", merge: "max" },
      { key: "busy", name: "running", mark: "var(--c2)", kind: "area", merge: "max" },
      { key: "capacity", name: "capacity", mark: "var(--quiet)", kind: "thin", merge: "max" },
    ],
  }),
  new Chart($("charts"), {
    title: "Memory (PSS)",
    about: "Of the processes of this application and of the server, where what several share is divided among them (PSS); and all that is used by any process, of what there is.",
    format: size,
    unit: (most) => (most < 1024 * 1024 ? 1024 : 1024 * 1024),
    floor: 3 * 1024,
    series: [
      { key: "memory_kib", name: "workers", mark: "var(--c3)", kind: "area", merge: "max", isOptional: true },
      { key: "server_memory_kib", name: "server", mark: "var(--c0)", kind: "line", merge: "max" },
      { key: "memory_used_kib", name: "in use", mark: "var(--quiet)", kind: "context", merge: "max", isOptional: true },
      { key: "memory_limit_kib", name: "limit", mark: "var(--bad)", kind: "limit", merge: "max", isOptional: true },
    ],
  }),
];

async function ask(path) {
  // `fetch` refuses an address with a password in it, which that of the page may have; the browser sends it all the same.
  const address = new URL(path, location.origin + location.pathname);
  const answer = await fetch(address, { signal: AbortSignal.timeout(5000), cache: "no-store" });
  noteClock(answer.headers.get("date"));
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error ?? answer.statusText), { status: answer.status });
  return value;
}

/** Adds new points to the history. Of two requests at once, as after a click, the first may be answered last. */
async function askHistory() {
  const step = state.step;
  const known = state.past.get(step) ?? new Map();
  state.past.set(step, known);
  const from = known.size ? Math.min(...[...known.values()].map((past) => past.next)) : 0;
  const { apps } = await ask(`v1/history?step=${step}&from=${from}`);
  for (const fresh of apps) {
    const past = known.get(fresh.app);
    if (!past || fresh.from > past.next) {
      known.set(fresh.app, fresh);
      continue;
    }
    if (fresh.next <= past.next) continue;
    const skip = past.next - fresh.from;
    const drop = Math.max(0, past.at_ms.length + fresh.at_ms.length - skip - 1500);
    for (const [name, values] of Object.entries(fresh)) {
      if (Array.isArray(values)) past[name] = past[name].slice(drop).concat(values.slice(skip));
    }
    past.next = fresh.next;
  }
}

async function look() {
  try {
    const [status, recorder, deploys] = await Promise.all([ask("v1/status"), ask("v1/recorder"), ask("v1/deploys")]);
    const since = `${status.server.pid} ${status.server.since_ms}`;
    if (state.since !== since) state.past.clear();
    state.since = since;
    await askHistory();
    state.seen = now();
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
  showBanners(status.server, app, of(recorder).refused);
  showTiles(app, status.server);
  showCharts();
  showWorkers(app);
  showPasts(app, of(recorder));
  once("deploys", of(deploys).deploys, showDeploys);
  for (const element of document.querySelectorAll("[data-at]")) element.textContent = ago(Number(element.dataset.at));
}

/** Draws only what has changed, so that what the user has opened or selected stays as it is. */
function once(name, value, draw) {
  const text = `${state.app} ${JSON.stringify(value)}`;
  if (state.shown.get(name) === text) return;
  state.shown.set(name, text);
  draw(value);
}

/**
 * Gives an element children with these keys, in this order. One that is there already stays: with another in its place,
 * a click that has begun, the focus, or a selection would be lost.
 */
function keep(host, keys, make) {
  for (const child of [...host.children]) if (!keys.includes(child.key)) child.remove();
  const known = new Map([...host.children].map((child) => [child.key, child]));
  keys.forEach((key, at) => {
    const child = known.get(key) ?? make(at);
    // A second child with the same key is made anew.
    known.delete(key);
    child.key = key;
    if (host.children[at] !== child) host.insertBefore(child, host.children[at] ?? null);
  });
  while (host.children.length > keys.length) host.lastElementChild.remove();
}

function showServer(server) {
  const marks = { serving: "good", draining: "warn", starting: "warn" };
  pill($("state"), server.state, marks[server.state] ?? "bad");
  const { open, displaced, refused } = server.connections;
  const closed = displaced + refused;
  const lost = closed ? ` (${number(closed)} closed or refused at the limit)` : "";
  $("facts").textContent = [
    server.version,
    `pid ${server.pid}`,
    `up ${lasting(server.uptime_s)}`,
    `${number(open)} ${open === 1 ? "connection" : "connections"}${lost}`,
    server.listeners.join(", "),
  ].join(" · ");
  $("seen").textContent = "";
}

function pill(element, words, mark) {
  element.textContent = words;
  element.className = `pill ${mark}`;
}

function showApps(apps) {
  const host = $("apps");
  host.hidden = apps.length < 2;
  keep(host, apps.map((app) => app.name), (at) => appButton(apps[at].name));
  apps.forEach((app, at) => {
    const isBad = app.last_deploy?.outcome === "failed" || app.recent.errors_per_s > 0;
    host.children[at].className = isBad ? "bad" : app.is_paused || app.queued > 0 ? "warn" : "";
    host.children[at].setAttribute("aria-pressed", String(app.name === state.app));
  });
}

function appButton(name) {
  const button = h("button", { type: "button" }, name);
  button.addEventListener("click", () => {
    state.app = name;
    look();
  });
  return button;
}

function showBanners(server, app, refused) {
  const banners = [];
  const note = (mark, title, words) => banners.push(h("p", { class: `banner ${mark}` }, h("b", {}, title), ` ${words}`));
  const { memory } = server;
  const used = memory ? `${size(memory.used_kib)} of ${size(memory.limit_kib)} are used.` : "";
  const { ready, all } = counted(app);
  if (app.recent.refused_per_s > 0) note("bad", "Requests are refused.", refusing(app, refused));
  if (memory?.is_short) note("bad", "Memory is short.", `${used} The kernel may kill processes.`);
  if (app.pool.is_held_by_memory) {
    note("bad", "There is no memory for more workers.", `${all} of at most ${app.pool.max} run. ${shortage(app.pool.shortage)}`);
  }
  for (const { file, why } of server.log.files.filter(({ why }) => why)) {
    note("bad", "The log cannot be written.", `${file}: ${why}. ${number(server.log.lost_lines)} lines are lost so far.`);
  }
  if (app.engine === "ruby" && app.pool.min > 0 && !ready) {
    note("bad", "No worker is ready.", `${all ? states(app) : "None runs"}; requests wait.`);
  }
  if (server.state === "draining") {
    note("", "The server is shutting down.", "/readyz says no to load balancers; running requests are finished.");
  }
  if (app.is_newest_first) {
    note("bad", "More requests come than are answered.", "In the last half minute, the newest requests began before older ones.");
  }
  if (app.is_paused) note("", "Paused.", `${number(app.queued)} requests wait. To go on: foolsgold resume`);
  if (app.is_reloading) note("", "New code is being loaded.", `Generation ${app.generation} serves meanwhile.`);
  const deploy = app.last_deploy;
  if (deploy?.outcome === "failed") {
    const title = h("b", {}, `The reload to generation ${deploy.generation} failed`);
    const when = h("span", { "data-at": deploy.at_ms });
    const words = `. Generation ${app.generation} still serves.`;
    banners.push(h("div", { class: "banner bad" }, title, " ", when, words, h("pre", {}, deploy.error ?? "")));
  }
  once("banners", banners.map((banner) => banner.outerHTML), () => $("banners").replaceChildren(...banners));
}

/** Why there is no memory for more workers, with the numbers of that decision. */
function shortage(of) {
  if (!of) return "";
  const seen = `${size(of.used_kib)} of ${size(of.limit_kib)} were used`;
  if (of.is_rest) return `${seen}, and a worker had just ended for want of memory.`;
  const growth = of.growth_kib ? ` and those that run ${size(of.growth_kib)} more` : "";
  return `${seen}; one more worker may need ${size(of.worker_kib)}${growth}, and workers are added up to ${size(of.full_kib)}.`;
}

/** Workers by state: 1 booting, 2 stopped. */
function states(app) {
  const counts = new Map();
  for (const { state } of app.workers) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${spaced(state)}`).join(", ");
}

function counted(app) {
  const ready = app.workers.filter(({ state }) => state === "ready" || state === "out_of_band").length;
  return { ready, all: app.workers.length };
}

function refusing(app, refused) {
  const { refused_per_s: rate, seconds } = app.recent;
  const last = refused.length ? ` The last one: ${refused[0].why}.` : "";
  return `${number(rate)} per second in the last ${Math.round(seconds)} s.${last}`;
}

/** Failed and refused requests since the start: [failed, refused], each [[words, count]]. */
function troubles(app) {
  const kinds = Object.entries(app.faults).filter(([name]) => !OF_CLIENTS.includes(name));
  kinds.push(["status 5xx", app.answers["5xx"] ?? 0]);
  const known = kinds.filter(([, count]) => count > 0).sort((one, other) => other[1] - one[1]);
  return [known.filter(([name]) => !(name in REFUSALS)), known.filter(([name]) => name in REFUSALS)];
}

const REFUSALS = { queue_full: "queue full", queue_wait: "no worker in time", out_of_files: "too many open files", stopping: "server shutting down" };
const OF_CLIENTS = ["client_gone", "body_malformed", "body_too_large", "body_late"];
const UNREAD = { body_malformed: "invalid body", body_too_large: "body too large", body_late: "body too slow", disk_full: "no space for the body", disk_error: "body not stored" };
const FAULTS = { app_error: "exception", bad_answer: "invalid response", out_of_time: "timed out", out_of_memory: "out of memory" };

function fault(name) {
  return REFUSALS[name] ?? FAULTS[name] ?? UNREAD[name] ?? spaced(name);
}

/** Whether a request was refused before any worker ran it. It may be the file of its response that could not be opened. */
const isUnrun = ({ worker, fault }) => worker === null && (fault in REFUSALS || fault in UNREAD) && fault !== "out_of_files";

const total = (kinds) => kinds.reduce((sum, [, count]) => sum + count, 0);

function showTiles(app, server) {
  const { recent } = app;
  const [p99, unit] = split(time(recent.service.p99_ms));
  const pss = app.memory_kib ?? 0;
  // Where the kernel does not report the size of other processes, the number is the server's alone.
  const isWhole = app.engine === "mruby" || app.memory_kib !== null;
  const whose = isWhole ? "Memory (PSS)" : "Memory of the server";
  const own = server.process.pss_kib ?? server.process.rss_kib ?? 0;
  const [memory, memoryUnit] = split(size(pss + own));
  const [failed, refused] = troubles(app).map(total);
  const isFailing = recent.errors_per_s > 0 ? "bad" : "";
  const words = [failed ? `${number(failed)} failed` : "", refused ? `${number(refused)} refused` : ""].filter(Boolean);
  const since = words.length ? `${words.join(", ")} since the start` : "none since the start";
  const waited = app.queued ? `the first for ${time(app.oldest_wait_ms)}` : `p99 of the wait ${time(recent.queue.p99_ms)}`;
  const left = server.memory ? `${size(server.memory.used_kib)} of ${size(server.memory.limit_kib)} used by all` : "";
  $("tiles").replaceChildren(
    tile("Requests", number(recent.requests_per_s), "/s", `${number(app.requests)} since the start`),
    tile("Failed or refused", number(recent.errors_per_s), "/s", since, isFailing),
    tile("Time in the application", p99, `${unit} p99`, `median ${time(recent.service.p50_ms)}`),
    tile("Waiting", number(app.queued), "", waited, app.queued ? "warn" : ""),
    tile("Running", number(app.busy), `of ${number(app.capacity)}`, `generation ${app.generation}`),
    tile(whose, memory, memoryUnit, left, server.memory?.is_short ? "bad" : ""),
  );
}

/** A number for a tile, and what stands behind it in small letters: 12 and "ms", 1 and "min 35 s". */
function split(words) {
  const [big, ...unit] = words.split(" ");
  return [big, unit.join(" ")];
}

function tile(name, big, unit, sub, mark = "") {
  const value = h("dd", { class: "big" }, big, unit ? h("small", {}, unit) : null);
  return h("dl", { class: `tile ${mark}` }, h("dt", {}, name), value, h("dd", { class: "sub", title: sub }, sub));
}

function showCharts() {
  const past = state.past.get(state.step)?.get(state.app);
  if (!past) return;
  const to = now();
  // For a server younger than the span, its lifetime, but a minute at least: curves instead of dots at the edge.
  const first = Math.min(to - 60e3, ...past.at_ms);
  for (const chart of charts) chart.update(past, Math.max(to - state.seconds * 1000, first), to);
}

const WORKER_MARKS = { ready: "good", booting: "warn", draining: "warn", out_of_band: "warn", hung: "bad" };

function showWorkers(app) {
  const body = $("workers").querySelector("tbody");
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && body.contains(selection.anchorNode)) return;
  const { pool } = app;
  const parts = [app.runtime];
  if (pool.min !== pool.max) parts.push(`${pool.min} to ${pool.max} workers, ${pool.wanted} wanted now`);
  if (app.leaving.length) parts.push(`generation ${app.leaving.join(", ")} finishes its requests`);
  $("pool").textContent = parts.filter(Boolean).join(" · ");
  const rows = app.workers.map((worker) => {
    const cell = (name, words) => h("td", { class: "n", "data-name": name }, words);
    const mark = h("span", {});
    pill(mark, spaced(worker.state), WORKER_MARKS[worker.state] ?? "");
    return h(
      "tr",
      { class: worker.running.length ? null : "idle" },
      cell("worker", String(worker.id)),
      cell("pid", worker.pid ? String(worker.pid) : "–"),
      h("td", {}, mark),
      cell("requests", number(worker.served)),
      cell("age", lasting(worker.age_s)),
      cell("memory", worker.pss_kib ? size(worker.pss_kib) : "–"),
      h("td", { class: "runs" }, ...runs(worker)),
    );
  });
  if (!rows.length) rows.push(h("tr", { class: "idle" }, h("td", { colspan: "7" }, noWorker(pool))));
  body.replaceChildren(...rows);
}

/** Workers that are always to run are started without a request: where none of them runs, none can be started now. */
function noWorker(pool) {
  return pool.min > 0 ? "No worker runs." : "No worker runs. The next request starts one.";
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

function showPasts(app, recorded) {
  const [failed, refused] = troubles(app);
  const lists = [
    ["failed", recorded.failed, failed, "No request has failed since the start."],
    ["refused", recorded.refused, refused, "No request was refused since the start."],
    ["slow", recorded.slow, [], "No slow request is recorded."],
  ];
  for (const [name, rows, kinds, none] of lists) {
    const count = total(kinds);
    const words = kinds.map(([kind, many]) => `${fault(kind)} ${number(many)}`).join(" · ");
    once(`${name} count`, words, () => {
      $(`${name}-count`).textContent = count ? `since the start: ${words}` : "";
    });
    const empty = count ? "None of them is recorded." : none;
    once(name, [rows, empty], () => showPast($(name), rows, empty));
  }
}

function showPast(host, rows, none) {
  const shown = rows.slice(0, ROWS);
  if (shown.length) keep(host, shown.map((past) => JSON.stringify(past)), (at) => pastRow(shown[at]));
  else host.replaceChildren(h("p", {}, none));
}

function pastRow(past) {
  const isBad = past.fault || !past.status || past.status >= 500;
  const words = [past.status, past.fault && fault(past.fault)].filter(Boolean).join(" ");
  const status = h("span", { class: `status ${isBad ? "bad" : ""}` }, words);
  const lasted = isUnrun(past) ? past.queued_ms : past.took_ms;
  const isAtOnce = (past.fault in REFUSALS || past.fault in UNREAD) && !lasted;
  const took = h("span", { class: "took" }, status, isAtOnce ? null : ` ${time(lasted)}`);
  const when = h("span", { class: "when", "data-at": past.at_ms });
  const summary = h("summary", {}, when, request(past, past.path), took);
  return h("details", { class: "row" }, summary, pastBody(past));
}

function pastBody(past) {
  const process = past.pid ? ` (pid ${past.pid})` : "";
  const unknown = isUnrun(past) ? "not run by any worker" : null;
  const who = past.worker === null ? unknown : `worker ${past.worker}${process}`;
  const why = [past.fault && fault(past.fault), past.why].filter(Boolean).join(": ");
  const waited = `waited ${time(past.queued_ms)}`;
  const times = isUnrun(past) ? waited : `${waited}, ran ${time(past.took_ms)}`;
  const facts = [times, who, `id ${past.id}`].filter(Boolean).join(" · ");
  const trace = past.backtrace.length ? h("pre", {}, past.backtrace.join("\n")) : null;
  return h("div", { class: "body" }, why ? h("p", { class: "why" }, why) : null, h("p", {}, facts), trace);
}

function showDeploys(rows) {
  const words = { started: "loaded at the start of the server", live: "live", failed: "failed" };
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

/** Texts for names of the API. */
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
