//! The metrics: names of numbers in records, with unit and direction. One table for all tools, studies, tables
//! and plots.

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name in records, which ends with the unit.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit for people; empty for a count.
    pub unit: &'static str,
    /// Significant digits after the decimal point.
    pub digits: usize,
    /// Whether higher or lower is better.
    pub direction: Direction,
}

/// Direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
    /// Neither: the metric only describes.
    Plain,
}

/// Right responses per second.
pub const RATE: &str = "requests_per_s";
/// The mean latency.
pub const MEAN: &str = "mean_ms";
/// The median latency.
pub const P50: &str = "p50_ms";
/// The latency that 99 of 100 requests did not exceed.
pub const P99: &str = "p99_ms";
/// The latency that 999 of 1000 requests did not exceed.
pub const P999: &str = "p999_ms";
/// The 99th percentile divided by the median.
pub const P99_OVER_P50: &str = "p99_over_p50";
/// Seconds from the first request to the last response.
pub const ELAPSED: &str = "elapsed_s";
/// Requests per second that an open loop was to send.
pub const OFFERED: &str = "offered_per_s";
/// The distribution of latencies: metrics, each with the number of requests of which one took longer (100 for p99).
pub const PERCENTILES: [(f64, &str); 7] = [
    (2.0, P50),
    (4.0, "p75_ms"),
    (10.0, "p90_ms"),
    (20.0, "p95_ms"),
    (100.0, P99),
    (1_000.0, P999),
    (10_000.0, "p9999_ms"),
];

/// Right responses per second that came in time, during an overload.
pub const GOODPUT: &str = "goodput_per_s";
/// Milliseconds after which a response under overload is of no use.
pub const GOODPUT_DEADLINE_MS: u64 = 1000;

/// Whether this number is made of latencies: where the load generator itself was late, it is partly the generator's.
pub fn is_of_latencies(name: &str) -> bool {
    let others = [MEAN, "shortest_ms", "max_ms", P99_OVER_P50, "concurrency", GOODPUT, RECOVERY];
    others.contains(&name) || PERCENTILES.iter().any(|(_, percentile)| *percentile == name)
}

/// Whether this number says how many requests had no right answer in time, so that a server is not left out for those.
pub fn counts_failures(name: &str) -> bool {
    [FAILED, FAILED_PPM, "availability_pct", GOODPUT, RECOVERY].contains(&name)
}

/// The percentile above which one of so many requests lies: 99 for 100.
pub fn percent(one_in: f64) -> f64 {
    100.0 - 100.0 / one_in
}

/// A rate with its significant digits: `120`, `67.1`, `0.5`.
pub fn rate_in_words(per_s: f64) -> String {
    let text = match per_s {
        large if large >= 99.5 => return format!("{large:.0}"),
        middle if middle >= 9.95 => format!("{middle:.1}"),
        small => format!("{small:.2}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Seconds after an overload until all was as before it.
pub const RECOVERY: &str = "recovery_s";
/// Connections that were open.
pub const CONNECTIONS: &str = "connections";
/// Growth of the server's memory per open connection, in KiB.
pub const IDLE_KIB: &str = "idle_kib";
/// Requests with a right response.
pub const REQUESTS: &str = "requests";
/// Requests without a right response.
pub const FAILED: &str = "failed";
/// Requests with a right response of a second load, whose failures are included in [`FAILED`]: the share of failures is
/// one of the requests of both loads.
pub const OTHERS_RIGHT: &str = "others_right";
/// Share of requests without a right response, of a million. A closed loop makes more requests of a faster server, and
/// so may count more failures.
pub const FAILED_PPM: &str = "failed_ppm";
/// Kills or reloads under the load.
pub const ACTS: &str = "acts";
/// How many of them there should have been.
pub const ACTS_PLANNED: &str = "acts_planned";
/// Processor time of the server's whole process tree per request.
pub const CPU: &str = "cpu_us_per_request";
/// Highest proportional set size (PSS) of the process tree.
pub const PSS_PEAK: &str = "pss_peak_mib";
/// Over time: proportional set size (PSS) of the process tree.
pub const PSS: &str = "pss_mib";
/// Most memory of the process tree that was swapped out at one time.
pub const SWAP: &str = "swap_mib";
/// Over time: number of processors busy with the process tree.
pub const PROCESSORS: &str = "processors";
/// The metrics that are shown over time.
pub const OVER_TIME: [&str; 4] = [RATE, P99, PROCESSORS, PSS];
/// Time from the start of the first process to the first right response.
pub const FIRST_ANSWER: &str = "first_answer_ms";

/// 99th percentile of the load generator's own lateness; it reveals a machine that is too small for both programs.
pub const LATE: &str = "late_ms";

/// Requests that the load generator should have sent and did not, unless the server is known to be the cause. They are
/// in no other number.
pub const NOT_SENT: &str = "not_sent";
/// Present with [`NOT_SENT`]: 1 if the load generator is to blame, since it was too slow or had too few clients; 0 if
/// it is not known whether the server was too slow.
pub const NOT_SENT_BY_ITSELF: &str = "not_sent_by_itself";

/// Processors that the load generator used.
pub const GENERATOR: &str = "generator_processors";
/// Number of processors that the load generator can use: of its threads, or of the machine where it has more threads.
pub const GENERATOR_THREADS: &str = "generator_threads";
/// Share of the load's time, in percent, for which a thread of the load generator was ready to run and waited for a
/// processor: a mean of its threads. Its latencies include these waits. It says nothing of how long a single one was.
pub const GENERATOR_WAITED: &str = "generator_waited_pct";
/// Whether the rate had settled before the load: 1 if it had, 0 if not, 0.5 if that is not known.
pub const SETTLED: &str = "settled";

/// Responses that were checked after a load whose tool does not check them.
pub const CHECKED: &str = "checked";
/// Requests of that checked load without a right answer, of a million: the tool may not see those failures.
pub const CHECKED_FAILED_PPM: &str = "checked_failed_ppm";

/// Mean time of a request in the load that divides it; the six parts below add up to it.
pub const DIVIDED: &str = "divided_ms";
/// Responses in that load.
pub const DIVIDED_REQUESTS: &str = "divided_requests";
/// The load generator's lateness in sending the request and in seeing the response.
pub const IN_GENERATOR: &str = "in_generator_ms";
/// Time between connection and accept.
pub const IN_ACCEPT_QUEUE: &str = "in_accept_queue_ms";
/// Time from there to the application.
pub const IN_SERVER: &str = "in_server_ms";
/// Time in the application, on a processor.
pub const APP_PROCESSOR: &str = "app_processor_ms";
/// Time in the application, off the processor.
pub const APP_WAITING: &str = "app_waiting_ms";
/// Time from the end of the application to the client.
pub const AFTER_APP: &str = "after_app_ms";
/// The parts of a request's time, in order.
pub const PARTS: [&str; 6] = [IN_GENERATOR, IN_ACCEPT_QUEUE, IN_SERVER, APP_PROCESSOR, APP_WAITING, AFTER_APP];
/// Time in which threads of the server were ready to run for a request while other threads had the processors.
pub const RUN_QUEUE: &str = "run_queue_ms";

/// All metrics, in the order in which they are shown.
pub const METRICS: [Metric; 48] = [
    metric(RATE, "Rate", "requests/s", 0, Direction::Higher),
    metric(GOODPUT, "Goodput", "requests/s", 0, Direction::Higher),
    metric(REQUESTS, "Requests", "", 0, Direction::Plain),
    metric(FAILED, "Failed", "", 0, Direction::Lower),
    metric(FAILED_PPM, "Failed, of a million", "", 0, Direction::Lower),
    metric(ACTS, "Kills or reloads", "", 0, Direction::Plain),
    metric(CHECKED, "Checked", "answers", 0, Direction::Plain),
    metric("availability_pct", "Availability", "%", 2, Direction::Higher),
    metric(ELAPSED, "Elapsed", "s", 2, Direction::Lower),
    metric(CONNECTIONS, "Connections", "", 0, Direction::Plain),
    metric(IDLE_KIB, "Memory of an idle connection", "KiB", 1, Direction::Lower),
    metric("concurrency", "In flight", "", 1, Direction::Plain),
    metric(MEAN, "Mean", "ms", 2, Direction::Lower),
    metric(P50, "p50", "ms", 2, Direction::Lower),
    metric("p75_ms", "p75", "ms", 2, Direction::Lower),
    metric("p90_ms", "p90", "ms", 2, Direction::Lower),
    metric("p95_ms", "p95", "ms", 2, Direction::Lower),
    metric(P99, "p99", "ms", 2, Direction::Lower),
    metric(P999, "p99.9", "ms", 2, Direction::Lower),
    metric("p9999_ms", "p99.99", "ms", 2, Direction::Lower),
    metric("shortest_ms", "Shortest", "ms", 2, Direction::Lower),
    metric("max_ms", "Longest", "ms", 1, Direction::Lower),
    metric(P99_OVER_P50, "p99 over p50", "", 2, Direction::Lower),
    metric(CPU, "CPU per request", "us", 0, Direction::Lower),
    metric("pss_mean_mib", "Memory, mean", "MiB", 0, Direction::Lower),
    metric(PSS_PEAK, "Memory, peak", "MiB", 0, Direction::Lower),
    metric(PSS, "Memory", "MiB", 0, Direction::Lower),
    metric(PROCESSORS, "Processors busy", "", 2, Direction::Plain),
    metric("rss_mib", "Resident", "MiB", 0, Direction::Lower),
    metric(SWAP, "Swapped", "MiB", 0, Direction::Lower),
    metric(FIRST_ANSWER, "First answer", "ms", 0, Direction::Lower),
    metric("cold_ms", "First request, cold", "ms", 0, Direction::Lower),
    metric("after_idle_ms", "First request after idling", "ms", 0, Direction::Lower),
    metric(OFFERED, "Offered", "requests/s", 0, Direction::Plain),
    metric(LATE, "Load generator late, p99", "ms", 2, Direction::Plain),
    metric(RECOVERY, "Recovery", "s", 2, Direction::Lower),
    metric("load_pct", "Load", "% of capacity", 0, Direction::Plain),
    metric("users", "Users", "", 0, Direction::Plain),
    metric("bytes_per_answer", "Answer", "bytes", 0, Direction::Plain),
    metric(DIVIDED, "All", "ms", 2, Direction::Plain),
    metric(DIVIDED_REQUESTS, "Requests", "", 0, Direction::Plain),
    metric(IN_GENERATOR, "Load generator", "ms", 2, Direction::Plain),
    metric(IN_ACCEPT_QUEUE, "Accept queue", "ms", 2, Direction::Plain),
    metric(IN_SERVER, "Server, before the application", "ms", 2, Direction::Plain),
    metric(APP_PROCESSOR, "Application, on a processor", "ms", 2, Direction::Plain),
    metric(APP_WAITING, "Application, waiting", "ms", 2, Direction::Plain),
    metric(AFTER_APP, "After the application", "ms", 2, Direction::Plain),
    metric(RUN_QUEUE, "Run queue", "ms", 2, Direction::Plain),
];

const fn metric(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    digits: usize,
    direction: Direction,
) -> Metric {
    Metric { name, title, unit, digits, direction }
}

impl Metric {
    /// The metric with this name.
    pub fn of(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
