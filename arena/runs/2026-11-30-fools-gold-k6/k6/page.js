// Written by arena (--load k6): the case page. It checks each answer, and counts right ones.
//
//     k6 run -e URL=http://HOST:PORT THIS-FILE
//
// Other settings, by -e NAME=VALUE: VUS (clients), REQUESTS, TIMEOUT (seconds), SEED,
// OUT (the file for what was counted).

const CASE = {
  "asks": [
    {
      "body": null,
      "expect": {
        "pattern": "(?:[0-9a-f]){8,8}\\u{2d}(?:[0-9a-f]){4,4}\\u{2d}4(?:[0-9a-f]){3,3}\\u{2d}[8-9a-b](?:[0-9a-f]){3,3}\\u{2d}(?:[0-9a-f]){12,12}",
        "rule": "matches",
        "status": 200,
        "words": "(?s)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
      },
      "headers": {},
      "method": "GET",
      "path": "/fools-gold",
      "weight": 1.0
    }
  ],
  "keep": false,
  "load": {
    "delay_s": 0.0,
    "kind": "requests",
    "requests": 5000,
    "vus": 16
  },
  "name": "page",
  "seed": 895341260,
  "timeout_s": 30.0
};

import crypto from 'k6/crypto';
import exec from 'k6/execution';
import http from 'k6/http';
import { randomSeed, sleep } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';

// Settings from outside, by -e NAME=VALUE; the defaults are the study's.
const URL = text('URL', 'http://127.0.0.1:9292').replace(/\/+$/, '');
const VUS = Math.round(number('VUS', CASE.load.vus));
const TIMEOUT_S = number('TIMEOUT', CASE.timeout_s);
const SEED = Math.round(number('SEED', CASE.seed));
const OUT = text('OUT', `${CASE.name}.k6.json`);
const IS_COUNTED = CASE.load.kind === 'requests';
const IS_OPEN = CASE.load.kind === 'open';
const REQUESTS = IS_COUNTED ? Math.round(number('REQUESTS', CASE.load.requests)) : 0;
// k6 has no shorter load than one second.
const SECONDS = IS_COUNTED ? 0 : Math.max(1, number('SECONDS', CASE.load.seconds));
const RATE = IS_OPEN ? number('RATE', CASE.load.per_s) : 0;

// Pause of a client that got no connection before it tries again.
const NO_CONNECTION_PAUSE_S = 0.005;
// Time for requests that were sent before the end.
const GRACE = `${Math.ceil(TIMEOUT_S) + 5}s`;
const COUNTED_MOST = '15m';

// Statuses that are counted separately. k6 knows only counters that are named before the load.
const STATUSES = [
  200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415,
  422, 429, 431, 500, 501, 502, 503, 504, 505,
];
const KINDS = ['connect', 'read', 'write', 'timeout', 'closed early', 'wrong answer', 'another status'].concat(
  STATUSES.map((status) => `status ${status}`),
);
const failures = {};
KINDS.forEach((kind) => {
  failures[kind] = new Counter(counter(kind));
});
const right = new Counter('arena_right');
const inTime = new Counter('arena_right_in_time');
const bytes = new Counter('arena_bytes');
const measured = new Counter('arena_bytes_answers');
const ended = new Gauge('arena_ended_ms');
// The time that clients spent in requests, whatever became of these.
const waited = new Counter('arena_waited_ms');
const longest = new Gauge('arena_longest_ms');
const latency = new Trend('arena_latency', true);
const late = new Trend('arena_late', true);

// The whole distribution, so that the reports of several machines can be combined: every half percent, and finer at the
// end.
const GRID = [];
for (let tenth = 5; tenth < 1000; tenth += tenth < 900 ? 5 : 1) GRID.push(tenth / 10);
for (let hundredth = 9991; hundredth < 10000; hundredth += 1) GRID.push(hundredth / 100);
for (let thousandth = 99991; thousandth < 100000; thousandth += 1) GRID.push(thousandth / 1000);

export const options = {
  scenarios: { [CASE.load.kind]: scenario() },
  noConnectionReuse: !CASE.keep,
  summaryTrendStats: ['min', 'avg', 'max', 'count'].concat(GRID.map((percent) => `p(${percent})`)),
};

randomSeed(SEED + __VU);

const asks = CASE.asks.map((ask) => ({
  ...ask,
  url: URL + ask.path,
  words: `${ask.method} ${ask.path}`,
  content: content(ask.body),
  judge: judge(ask.expect),
  params: {
    headers: ask.headers,
    redirects: 0,
    timeout: TIMEOUT_S * 1000,
    responseType: ['any', 'length', 'sha256'].includes(ask.expect.rule) ? 'binary' : 'text',
    responseCallback: http.expectedStatuses(ask.expect.status),
    tags: { name: `${ask.method} ${ask.path}` },
  },
}));
const sums = asks.map(((sum) => (ask) => (sum += ask.weight))(0));
let begun = null;
let hasTold = false;

export default function () {
  if (begun === null) begun = exec.scenario.startTime;
  if (CASE.load.delay_s > 0) sleep(Math.random() * CASE.load.delay_s);
  const from = Date.now();
  // k6 sends at even intervals, counted from the start.
  if (IS_OPEN) late.add(Math.max(0, from - begun - (exec.scenario.iterationInTest * 1000) / RATE));
  const ask = asks[drawn()];
  const answer = http.request(ask.method, ask.url, ask.content, ask.params);
  const at = Date.now();
  ended.add(at - begun);
  waited.add(at - from);
  longest.add(at - from);
  const kind = answer.status === 0 || hasBroken(answer.error_code) ? broken(answer) : judged(ask, answer);
  if (kind === null) {
    right.add(1);
    if (IS_COUNTED || at <= begun + SECONDS * 1000) inTime.add(1);
    // With the time to get a connection, which k6 leaves out of http_req_duration.
    latency.add(answer.timings.blocked + answer.timings.duration);
    const size = sized(answer);
    if (size !== null) {
      bytes.add(size);
      measured.add(1);
    }
    return;
  }
  failures[kind].add(1);
  if (kind === 'timeout') latency.add(at - from);
  if (kind === 'connect' && !IS_OPEN) sleep(NO_CONNECTION_PAUSE_S);
}

// The report of this machine. On several machines each writes its own.
export function handleSummary(data) {
  const of = (name) => (data.metrics[name] ? data.metrics[name].values : null);
  const count = (name) => (of(name) ? of(name).count : 0);
  const errors = {};
  KINDS.forEach((kind) => {
    if (count(counter(kind)) > 0) errors[kind] = count(counter(kind));
  });
  const report = {
    arena_k6: 1,
    case: CASE.name,
    load: CASE.load.kind,
    seconds: SECONDS,
    per_s: RATE,
    vus: VUS,
    ended_ms: of('arena_ended_ms') ? of('arena_ended_ms').max : 0,
    iterations: count('iterations'),
    dropped: count('dropped_iterations'),
    waited_ms: count('arena_waited_ms'),
    longest_ms: of('arena_longest_ms') ? of('arena_longest_ms').max : 0,
    right: count('arena_right'),
    right_in_time: count('arena_right_in_time'),
    bytes: count('arena_bytes'),
    bytes_answers: count('arena_bytes_answers'),
    errors,
    latency: distribution(of('arena_latency')),
    late: distribution(of('arena_late')),
  };
  const span = (SECONDS || report.ended_ms / 1000) || 1;
  const failed = Object.values(errors).reduce((sum, number) => sum + number, 0);
  const words = Object.entries({ ...errors, ...(report.dropped > 0 ? { 'not sent': report.dropped } : {}) });
  const times = report.latency ? [50, 99].map((p) => `p${p} ${at(report.latency, p).toFixed(2)} ms`).join(', ') : 'no times';
  return {
    [OUT]: JSON.stringify(report),
    stdout:
      `${CASE.name}: ${(report.right_in_time / span).toFixed(1)} right answers/s, ${times}; ${report.right} right, ` +
      `${failed} failed${words.map(([kind, number]) => `, ${kind}: ${number}`).join('')}; all of it in ${OUT}\n`,
  };
}

function distribution(values) {
  if (values === null || !(values.count > 0)) return null;
  const percents = [[0, values.min]].concat(GRID.map((percent) => [percent, values[`p(${percent})`]]));
  return { count: values.count, mean: values.avg, percents: percents.concat([[100, values.max]]) };
}

function at(of, percent) {
  return of.percents.find((pair) => pair[0] === percent)[1];
}

function scenario() {
  // k6 refuses clients that would have nothing to send.
  const vus = IS_COUNTED ? Math.min(VUS, REQUESTS) : VUS;
  if (IS_OPEN) {
    // A rate is a whole number in k6.
    const [rate, timeUnit] = [Math.round(RATE * 1000), '1000s'];
    const duration = `${SECONDS}s`;
    return { executor: 'constant-arrival-rate', rate, timeUnit, duration, preAllocatedVUs: vus, gracefulStop: GRACE };
  }
  if (!IS_COUNTED) return { executor: 'constant-vus', vus, duration: `${SECONDS}s`, gracefulStop: GRACE };
  const [maxDuration, gracefulStop] = [COUNTED_MOST, GRACE];
  if (CASE.load.delay_s > 0) {
    const iterations = Math.ceil(REQUESTS / vus);
    return { executor: 'per-vu-iterations', vus, iterations, maxDuration, gracefulStop };
  }
  return { executor: 'shared-iterations', vus, iterations: REQUESTS, maxDuration, gracefulStop };
}

// Draws a request by weight.
function drawn() {
  if (sums.length === 1) return 0;
  const place = Math.random() * sums[sums.length - 1];
  return sums.findIndex((sum) => place < sum);
}

// k6 has codes for statuses above 399, too.
function hasBroken(code) {
  return code >= 1000 && !(code >= 1400 && code < 1600);
}

// The kind of a failure without a response, as the arena names it.
function broken(answer) {
  const code = answer.error_code;
  if (code === 1050 || code === 1211) return 'timeout';
  if ((code >= 1100 && code < 1200) || (code >= 1210 && code <= 1213) || (code >= 1300 && code < 1400)) return 'connect';
  if (code === 1201 || answer.error.startsWith('write')) return 'write';
  if (/malformed|invalid|bad /.test(answer.error)) return wrong('', `this is not HTTP: ${answer.error}`);
  return /EOF|closed/.test(answer.error) ? 'closed early' : 'read';
}

// The error in a response; nothing if it is right.
function judged(ask, answer) {
  if (answer.status !== ask.expect.status) {
    const kind = `status ${answer.status}`;
    return failures[kind] ? kind : 'another status';
  }
  const why = ask.judge(answer);
  return why === null ? null : wrong(ask.words, why);
}

// Prints the first wrong response of each client; the arena shows the first of all.
function wrong(words, why) {
  if (!hasTold) console.error(`wrong answer: ${words}${words && ': '}${why}`);
  hasTold = true;
  return 'wrong answer';
}

function judge(expect) {
  const shown = (body) => JSON.stringify(body.length > 80 ? `${body.slice(0, 80)}…` : body);
  const length = (answer) => (answer.body ? answer.body.byteLength : 0);
  const body = (answer) => answer.body || '';
  switch (expect.rule) {
    case 'any':
      return () => null;
    case 'length':
      return (answer) =>
        length(answer) === expect.length ? null : `a body of ${length(answer)} bytes, not of ${expect.length}`;
    case 'sha256':
      return (answer) => {
        const is = length(answer) === expect.length && crypto.sha256(answer.body || '', 'hex') === expect.sha256;
        return is ? null : `a body of ${length(answer)} bytes, not the right one of ${expect.length}`;
      };
    case 'exactly':
      return (answer) =>
        body(answer) === expect.text ? null : `the body is not the right one: ${shown(body(answer))}`;
    case 'contains':
      return (answer) =>
        body(answer).includes(expect.text) ? null : `there is no ${shown(expect.text)} in it: ${shown(body(answer))}`;
    case 'matches': {
      const pattern = new RegExp(expect.pattern, 'u');
      return (answer) =>
        pattern.test(body(answer)) ? null : `the body does not match ${expect.words}: ${shown(body(answer))}`;
    }
    default:
      throw new Error(`${expect.rule} is no rule for a body: this script is broken`);
  }
}

// Length of the body in bytes, where it is known without counting each.
function sized(answer) {
  if (answer.body instanceof ArrayBuffer) return answer.body.byteLength;
  const length = answer.headers['Content-Length'];
  return length === undefined ? null : Number(length);
}

function content(body) {
  if (body === null) return null;
  if (body.hex !== undefined) return Uint8Array.from(body.hex.match(/../g), (byte) => parseInt(byte, 16)).buffer;
  if (body.repeat === undefined) return body.text;
  return body.repeat.repeat(Math.ceil(body.length / body.repeat.length)).slice(0, body.length);
}

function counter(kind) {
  return `arena_failed_${kind.replace(/ /g, '_')}`;
}

function text(name, otherwise) {
  const given = __ENV[name];
  return given === undefined || given === '' ? otherwise : given;
}

function number(name, otherwise) {
  const given = text(name, otherwise);
  if (given === null) throw new Error(`this load has a rate of its own for each server: give -e ${name}=NUMBER`);
  const value = Number(given);
  if (!(value > 0) || !Number.isFinite(value)) throw new Error(`${name} is ${given}: give a number above 0`);
  return value;
}
