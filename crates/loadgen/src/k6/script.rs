//! The script that k6 runs for a load: a fixed text, preceded by the requests and the rules for their responses. Target
//! and load can be set by environment variables, so that it can run elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::ask::{Ask, BodyRule, Workload};
use super::pattern::javascript;

const SCRIPT: &str = include_str!("script.js");
/// Longest body that is compared as text, which occupies memory in each client; longer ones are compared by hash.
const TEXT_MOST: usize = 16 << 10;
/// Longest period of a repetitive body that is written as a repetition.
const PERIOD_MOST: usize = 256;

/// Options of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct K6Plan {
    /// Name of the script and of the report that it writes.
    pub case: String,
    /// Kind of the load.
    pub load: K6Load,
    /// Whether connections are reused.
    pub keep: bool,
    /// Time limit of a request.
    pub timeout: Duration,
    /// Seed of the random choices.
    pub seed: u64,
}

/// Kinds of loads that k6 supports.
#[derive(Debug, Clone, PartialEq)]
pub enum K6Load {
    /// A closed loop for some time.
    Clients {
        /// Number of concurrent clients.
        clients: u32,
        /// Duration in seconds.
        seconds: f64,
    },
    /// A closed loop of a number of requests.
    Requests {
        /// Number of concurrent clients.
        clients: u32,
        /// Requests of all clients together.
        requests: u64,
        /// Longest random delay before each request, in seconds.
        delay_s: f64,
    },
    /// An open loop.
    Rate {
        /// Requests per second, at even intervals.
        per_s: f64,
        /// Duration in seconds.
        seconds: f64,
        /// Most concurrent clients; a request without one is dropped.
        connections: u32,
    },
}

impl K6Plan {
    /// The text of the script. The error says which part of the workload k6 does not support.
    pub fn script(&self, workload: &Workload) -> Result<String, String> {
        let asks = workload.asks.iter().map(ask).collect::<Result<Vec<Value>, String>>()?;
        let load = match &self.load {
            K6Load::Clients { clients, seconds } => json!({ "kind": "clients", "vus": clients, "seconds": seconds }),
            K6Load::Requests { clients, requests, delay_s } => {
                json!({ "kind": "requests", "vus": clients, "requests": requests, "delay_s": delay_s })
            }
            // The rate differs between servers, so a script that runs elsewhere must be given one.
            K6Load::Rate { seconds, connections, .. } => {
                json!({ "kind": "open", "vus": connections, "seconds": seconds, "per_s": null })
            }
        };
        let case = json!({
            "name": self.case,
            "load": load,
            "keep": self.keep,
            "timeout_s": self.timeout.as_secs_f64(),
            "seed": self.short_seed(),
            "asks": asks,
        });
        let case = serde_json::to_string_pretty(&case).map_err(|error| error.to_string())?;
        Ok(format!("{}\nconst CASE = {case};\n\n{SCRIPT}", self.header()))
    }

    /// The environment variables of this run, as options of k6.
    pub(super) fn settings(&self, port: u16) -> Vec<String> {
        let mut all = vec![("URL", format!("http://127.0.0.1:{port}"))];
        match &self.load {
            K6Load::Clients { clients, seconds } => {
                all.extend([("VUS", clients.to_string()), ("SECONDS", seconds.to_string())]);
            }
            K6Load::Requests { clients, requests, .. } => {
                all.extend([("VUS", clients.to_string()), ("REQUESTS", requests.to_string())]);
            }
            K6Load::Rate { per_s, seconds, connections } => {
                all.extend([("VUS", connections.to_string()), ("SECONDS", seconds.to_string())]);
                all.push(("RATE", format!("{per_s:.3}")));
            }
        }
        all.push(("SEED", self.short_seed().to_string()));
        all.into_iter().flat_map(|(name, value)| ["-e".to_owned(), format!("{name}={value}")]).collect()
    }

    /// Longest time that k6 may run.
    pub(super) fn limit(&self) -> Duration {
        // Start-up with many clients, and the time of the last requests.
        const AROUND: Duration = Duration::from_secs(90);
        let load = match &self.load {
            K6Load::Clients { seconds, .. } | K6Load::Rate { seconds, .. } => Duration::from_secs_f64(seconds.max(1.0)),
            K6Load::Requests { .. } => Duration::from_secs(900),
        };
        load + self.timeout + AROUND
    }

    /// The seed, cut to what JavaScript represents exactly.
    fn short_seed(&self) -> u64 {
        self.seed % (1 << 32)
    }

    fn header(&self) -> String {
        let rate = match &self.load {
            K6Load::Rate { .. } => ",\n// RATE (requests per second; needed: it is another for each server)",
            K6Load::Requests { .. } => ", REQUESTS",
            K6Load::Clients { .. } => "",
        };
        let seconds = if matches!(self.load, K6Load::Requests { .. }) { "" } else { ", SECONDS" };
        format!(
            "// Written by arena (--load k6): the case {}. It checks each answer, and counts right ones.\n//\n\
             //     k6 run -e URL=http://HOST:PORT THIS-FILE\n//\n\
             // Other settings, by -e NAME=VALUE: VUS (clients){seconds}{rate}, TIMEOUT (seconds), SEED,\n\
             // OUT (the file for what was counted).\n",
            self.case
        )
    }
}

fn ask(ask: &Ask) -> Result<Value, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &ask.headers {
        let name = name.to_ascii_lowercase();
        if name == "accept-encoding" {
            return Err(format!(
                "{}: k6 unpacks compressed answers unchecked: leave out accept-encoding, or --load k6",
                ask.in_words()
            ));
        }
        let all = headers.entry(name).or_default();
        *all = if all.is_empty() { value.clone() } else { format!("{all}, {value}") };
    }
    let refused = |why: String| format!("{}: {why}", ask.in_words());
    Ok(json!({
        "method": ask.method,
        "path": ask.path,
        "headers": headers,
        "body": body(&ask.body),
        "expect": expect(ask).map_err(refused)?,
        "weight": ask.weight,
    }))
}

fn body(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return json!({ "hex": hex(bytes) }) };
    let has_period = |period: &usize| bytes[*period..].iter().zip(bytes).all(|(one, other)| one == other);
    let short = (1..=PERIOD_MOST).find(|period| text.len() > PERIOD_MOST && has_period(period));
    match short.filter(|period| text.is_ascii() && text.len() > *period) {
        Some(period) => json!({ "repeat": text[..period], "length": text.len() }),
        None => json!({ "text": text }),
    }
}

fn expect(ask: &Ask) -> Result<Value, String> {
    let status = ask.expect.status;
    Ok(match &ask.expect.body {
        BodyRule::Any => json!({ "status": status, "rule": "any" }),
        BodyRule::Length(length) => json!({ "status": status, "rule": "length", "length": length }),
        BodyRule::Contains(text) => json!({ "status": status, "rule": "contains", "text": text }),
        BodyRule::Matches(pattern) => {
            let javascript = javascript(pattern.as_str())?;
            json!({ "status": status, "rule": "matches", "pattern": javascript, "words": pattern.as_str() })
        }
        BodyRule::Exactly(bytes) => match std::str::from_utf8(bytes) {
            // k6 replaces bytes that are not text by this character.
            Ok(text) if bytes.len() <= TEXT_MOST && !text.contains('\u{fffd}') => {
                json!({ "status": status, "rule": "exactly", "text": text })
            }
            _ => {
                let sum = hex(&Sha256::digest(bytes));
                json!({ "status": status, "rule": "sha256", "length": bytes.len(), "sha256": sum })
            }
        },
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn plan(load: K6Load) -> K6Plan {
        K6Plan { case: "page".to_owned(), load, keep: true, timeout: Duration::from_secs(30), seed: 1 << 40 | 7 }
    }

    fn case(script: &str) -> Value {
        let from = script.split_once("const CASE = ").unwrap().1;
        serde_json::from_str(from.split_once(";\n\n").unwrap().0).unwrap()
    }

    #[test]
    fn a_script_says_what_is_asked_and_what_is_right() {
        let long = "x".repeat(TEXT_MOST + 1).into_bytes();
        let rules = [
            BodyRule::Any,
            BodyRule::Length(6),
            BodyRule::Contains("ell".into()),
            BodyRule::Matches(Regex::new("(?s)^h.").unwrap()),
            BodyRule::Exactly("hé\"</script>".into()),
            BodyRule::Exactly(vec![0xff, 0xfe]),
            BodyRule::Exactly(long),
        ];
        let mut asks: Vec<Ask> = rules.into_iter().map(|rule| Ask::get("/x?y=1").with_body(rule)).collect();
        asks[0].headers = vec![("Accept".into(), "a".into()), ("accept".into(), "b".into())];
        asks[1] = Ask { method: "POST".into(), body: b"FoolsGold\n".repeat(100), weight: 2.5, ..asks[1].clone() };
        asks[2].body = vec![0xff, 1];
        let script = plan(K6Load::Clients { clients: 4, seconds: 1.5 }).script(&Workload { asks }).unwrap();
        let case = case(&script);
        assert_eq!(case["load"], json!({ "kind": "clients", "vus": 4, "seconds": 1.5 }));
        assert_eq!((&case["keep"], &case["timeout_s"], &case["seed"]), (&json!(true), &json!(30.0), &json!(7)));
        let asks = case["asks"].as_array().unwrap();
        assert_eq!(asks[0]["headers"], json!({ "accept": "a, b" }));
        assert_eq!(asks[1]["body"], json!({ "repeat": "FoolsGold\n", "length": 1000 }));
        assert_eq!((&asks[2]["body"], &asks[1]["weight"]), (&json!({ "hex": "ff01" }), &json!(2.5)));
        let rules: Vec<&str> = asks.iter().map(|ask| ask["expect"]["rule"].as_str().unwrap()).collect();
        assert_eq!(rules, ["any", "length", "contains", "matches", "exactly", "sha256", "sha256"]);
        assert_eq!(asks[3]["expect"]["pattern"], r"^h[\u{0}-\u{10ffff}]");
        assert!(asks[5]["expect"]["sha256"].as_str().unwrap().len() == 64);
        assert!(script.contains("k6 run -e URL=http://HOST:PORT") && script.contains("handleSummary"), "{script}");
    }

    #[test]
    fn loads_are_those_of_k6_and_settings_of_this_run() {
        let workload = Workload { asks: vec![Ask::get("/")] };
        let own = K6Load::Rate { per_s: 12.5, seconds: 2.0, connections: 64 };
        let script = plan(own.clone()).script(&workload).unwrap();
        assert!(case(&script)["load"]["per_s"].is_null() && script.contains("needed"));
        let words = plan(own).settings(8080).join(" ");
        assert_eq!(words, "-e URL=http://127.0.0.1:8080 -e VUS=64 -e SECONDS=2 -e RATE=12.500 -e SEED=7");
        let counted = plan(K6Load::Requests { clients: 4, requests: 100, delay_s: 1.0 });
        let load = json!({ "kind": "requests", "vus": 4, "requests": 100, "delay_s": 1.0 });
        assert_eq!(case(&counted.script(&workload).unwrap())["load"], load);
    }

    #[test]
    fn what_k6_would_do_otherwise_is_refused() {
        let packed = Ask { headers: vec![("Accept-Encoding".into(), "gzip".into())], ..Ask::get("/") };
        let pattern = Ask::get("/").with_body(BodyRule::Matches(Regex::new(r"\bx").unwrap()));
        for (ask, says) in [(packed, "compressed"), (pattern, "border of a word")] {
            let load = K6Load::Clients { clients: 1, seconds: 1.0 };
            let error = plan(load).script(&Workload { asks: vec![ask] }).unwrap_err();
            assert!(error.contains(says) && error.contains("GET /"), "{error}");
        }
    }
}
