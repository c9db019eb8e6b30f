//! The applications under load, and the right responses to each request.

use loadgen::{AskParts, Workload};

/// The arena's Sinatra application, with endpoints for bad days.
pub const SINATRA: &str = "bench/chaos/apps/sinatra.ru";
/// FoolsGold's page on embedded interpreters, with the same endpoints.
pub const MRUBY: &str = "bench/chaos/apps/mruby.ru";
/// One page of Rails.
pub const RAILS: &str = "apps/rails-small/config.ru";

const OF_SINATRA: &str = r#"
    { "path": "/server", "matches": "\\Aserver: \\S.*\nruby: \\S.*\npid: [0-9]+\n\\z", "weight": 3.0 },
    { "path": "/digits", "matches": "\\A3\\.14159265358979323846[0-9]{180}\n\\z" },
    { "path": "/short", "exactly": "short\n" }"#;

/// A request that is not safe, for scenarios in which no worker is killed.
const POST: &str = r#"
    { "path": "/digest", "method": "POST", "body": "gold",
      "exactly": "24d7f03d8dc3c3666969e6fa5bb1fac4736d3f1353c28307ed51b320f9dc42d3" }"#;

const OF_RAILS: &str = r#"
    { "path": "/", "contains": "<p>Hello, world!</p>" },
    { "path": "/?name=Ada", "contains": "<p>Hello, Ada!</p>" }"#;

const OF_MRUBY: &str = r#"
    { "path": "/fools-gold", "matches": "</html>\\s*\\z", "weight": 3.0 },
    { "path": "/sum", "exactly": "2001000\n" },
    { "path": "/short", "exactly": "short\n" }"#;

const OF_MRUBY_POST: &str = r#"{ "path": "/length", "method": "POST", "body": "gold", "exactly": "4\n" }"#;

/// Safe requests to the Sinatra application.
pub fn sinatra() -> Result<Workload, String> {
    workload(&[OF_SINATRA])
}

/// The same with requests that are not safe.
pub fn sinatra_with_posts() -> Result<Workload, String> {
    workload(&[OF_SINATRA, POST])
}

/// Safe requests to the Rails application.
pub fn rails() -> Result<Workload, String> {
    workload(&[OF_RAILS])
}

/// Requests to the application on embedded interpreters.
pub fn mruby() -> Result<Workload, String> {
    workload(&[OF_MRUBY, OF_MRUBY_POST])
}

/// A workload from requests in JSON, as in the arena's recipes.
pub fn workload(asks: &[&str]) -> Result<Workload, String> {
    let text = format!("[{}]", asks.join(","));
    let parts: Vec<AskParts> = serde_json::from_str(&text).map_err(|error| format!("{error} in {text}"))?;
    Workload::from_parts(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workloads_can_be_read() {
        for made in [sinatra(), sinatra_with_posts(), rails(), mruby()] {
            assert!(made.expect("a workload").asks.len() > 1);
        }
    }
}
