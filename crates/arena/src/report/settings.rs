//! Settings of the contenders of a run: size, version, Ruby, allocator, and the limits that they set.

use super::grammar::count;
use super::styles::Styles;
use crate::record::summary::{ALLOCATED_BY, CHOOSES_WORKERS, Summary, Who};

/// Words for a number of workers that may become larger while the contender runs.
const MAY_GROW: &str = "at its start; it may add workers";
/// Words in the description of a Ruby that was built without YJIT.
const YJIT_NOT_BUILT: &str = "built without YJIT";

/// Words for a setting of an imported contender that its user does not state.
const NOT_KNOWN: &str = "not known";
/// Words for the workers and threads of an imported contender.
const OF_STUDY: &str = "by the study, not counted";

/// Settings of a contender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its name in records.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Workers and threads per worker: `2 × 5`; what was counted, where that is something else; and whether the
    /// workers may become more.
    pub size: String,
    /// Version, as the program itself reports it.
    pub version: String,
    /// Allocator, where it is not the C library's.
    pub allocator: String,
    /// Ruby implementation and version, without date and platform; `its own` if it has none.
    pub ruby: String,
    /// Limits that its command line and files set, each with its value: `backlog 4096`. Empty if there are none.
    pub limits: String,
}

/// Options of servers, and of the proxies before them, for the limits that a study raises for all contenders: the
/// length of a queue, the number of connections, of requests on one, and of bytes of a body.
const LIMITS: [&str; 13] = [
    "backlog",
    "client_max_body_size",
    "keepalive_requests",
    "listen_backlog",
    "ListenBacklog",
    "max_keep_alive",
    "--max-persistent-conns",
    "--max-request-queue-size",
    "MaxKeepAliveRequests",
    "passenger_max_request_queue_size",
    "PassengerMaxRequestQueueSize",
    "ruby_thread_request_backlog_size",
    "worker_connections",
];

/// Settings of each contender that took part.
pub fn all(summary: &Summary, styles: &Styles) -> Vec<Settings> {
    let of = |who: &Who| {
        // A built-in allocator is part of the version; a preloaded one is among the notes.
        let (version, built_in) = who.version.split_once(", ").unwrap_or((&who.version, ""));
        let loaded = who.notes.iter().find_map(|note| note.strip_prefix(ALLOCATED_BY));
        let ruby = who.ruby.split(" (").next().unwrap_or_default();
        let jit = if who.ruby.contains(YJIT_NOT_BUILT) {
            ", built without YJIT"
        } else if who.ruby.contains("+YJIT") {
            ", with YJIT"
        } else {
            ""
        };
        // The arena has not seen how the servers of imported loads were started.
        let seen = |text: String| match text.is_empty() && summary.is_imported {
            true => NOT_KNOWN.to_owned(),
            false => text,
        };
        Settings {
            name: who.name.clone(),
            title: styles.title(&who.name),
            size: if summary.is_imported { format!("{} ({OF_STUDY})", size(who)) } else { size(who) },
            version: version.to_owned(),
            allocator: seen(loaded.unwrap_or(built_in).to_owned()),
            ruby: if ruby.is_empty() { "its own".to_owned() } else { format!("{ruby}{jit}") },
            limits: seen(limits(&who.commands)),
        }
    };
    summary.contenders.iter().filter(|who| who.missing.is_empty()).map(of).collect()
}

/// The limits that command lines and files set, as they are written there, each once.
fn limits(commands: &[String]) -> String {
    let is_between = |c: char| c.is_whitespace() || "'\"?&,;".contains(c);
    let mut words = commands.iter().flat_map(|text| text.split(is_between)).filter(|word| !word.is_empty()).peekable();
    let mut found: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        // As in `?backlog=4096`, `backlog: 4096` and `keepalive_requests 4096;`.
        let (name, own) = word.split_once('=').unwrap_or((word.trim_end_matches(':'), ""));
        let value = if own.is_empty() { words.peek().copied().unwrap_or_default() } else { own };
        let limit = format!("{name} {value}");
        if LIMITS.contains(&name) && !found.contains(&limit) {
            found.push(limit);
        }
    }
    found.join(", ")
}

/// Workers and threads of a contender as it was started, and as they were counted where these numbers differ: threads
/// that a server has for itself, or interpreters in place of processes.
fn size(who: &Who) -> String {
    let threads = who.threads.max(1);
    let asked = format!("{} × {threads}", who.workers);
    let is_other = |(processes, all)| (processes, all) != (who.workers, who.workers * threads);
    let is_other = who.counted_workers.zip(who.counted_threads).is_some_and(is_other);
    let counted = is_other.then(|| format!("counted: {}", counted(who)));
    let facts: Vec<String> = counted.into_iter().chain(growth(who).map(str::to_owned)).collect();
    if facts.is_empty() { asked } else { format!("{asked} ({})", facts.join("; ")) }
}

/// Words for a contender that may add workers while it runs: it was counted before its loads.
pub fn growth(who: &Who) -> Option<&'static str> {
    who.notes.iter().any(|note| note == CHOOSES_WORKERS).then_some(MAY_GROW)
}

/// Processes and threads that were counted while a contender ran: `2 processes, 16 threads`. Empty if nothing was.
pub fn counted(who: &Who) -> String {
    let processes = who.counted_workers.map(|number| count(number as usize, "process", "processes"));
    let threads = who.counted_threads.map(|number| count(number as usize, "thread", "threads"));
    processes.into_iter().chain(threads).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_may_become_more_are_not_shown_as_a_fixed_number() {
        let fixed = Who { workers: 2, threads: 5, ..Who::default() };
        let counted = Who { counted_workers: Some(2), counted_threads: Some(16), ..fixed.clone() };
        let chosen = |who: &Who| size(&Who { notes: vec![CHOOSES_WORKERS.to_owned()], ..who.clone() });
        assert_eq!((size(&fixed), chosen(&fixed)), ("2 × 5".into(), "2 × 5 (at its start; it may add workers)".into()));
        assert_eq!(size(&counted), "2 × 5 (counted: 2 processes, 16 threads)");
        assert_eq!(chosen(&counted), "2 × 5 (counted: 2 processes, 16 threads; at its start; it may add workers)");
    }

    #[test]
    fn what_nobody_saw_of_imported_contenders_is_not_known() {
        let who = Who { name: "puma".into(), version: "8.0.1".into(), workers: 2, threads: 5, ..Who::default() };
        let of = |is_imported: bool| {
            let summary = Summary { contenders: vec![who.clone()], is_imported, ..Summary::default() };
            all(&summary, &Styles::default()).remove(0)
        };
        let (seen, imported) = (of(false), of(true));
        assert_eq!((seen.size.as_str(), seen.allocator.as_str(), seen.limits.as_str()), ("2 × 5", "", ""));
        assert_eq!((imported.size.as_str(), imported.version.as_str()), ("2 × 5 (by the study, not counted)", "8.0.1"));
        assert_eq!((imported.allocator.as_str(), imported.limits.as_str()), ("not known", "not known"));
    }

    #[test]
    fn limits_are_read_from_command_lines_and_files() {
        let of = |commands: &[&str]| limits(&commands.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let puma = [
            "# puma.rb\nmax_keep_alive Float::INFINITY if respond_to?(:max_keep_alive)",
            "RAILS_MAX_THREADS=5 puma -q -w 2 -b 'tcp://127.0.0.1:9292?backlog=4096' -C TMP/puma.rb config.ru",
        ];
        assert_eq!(of(&puma), "max_keep_alive Float::INFINITY, backlog 4096");
        assert_eq!(of(&["listen \"TMP/unicorn.sock\", backlog: 1024"]), "backlog 1024");
        let nginx = "events { worker_connections 4096; }\nhttp {\n  keepalive_requests 1000000;\n  upstream app {\n    \
                     keepalive 4;\n    keepalive_requests 1000000;\n  }\n  listen 127.0.0.1:80 backlog=4096;\n}";
        assert_eq!(of(&[nginx]), "worker_connections 4096, keepalive_requests 1000000, backlog 4096");
        let options = ["passenger start --max-request-queue-size 100 APP", "thin start --max-persistent-conns=1024"];
        assert_eq!(of(&options), "--max-request-queue-size 100, --max-persistent-conns 1024");
        assert_eq!(of(&["iodine -w 2 -t 5 config.ru", "# environment: RACK_ENV=production"]), "");
    }
}
