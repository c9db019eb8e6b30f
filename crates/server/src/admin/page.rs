//! The live page. Its files are in `page/`: no framework, nothing from other servers, no build step.

use engine::Response;
use http::StatusCode;

use crate::admin::answer::respond;

const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/chart.js", "text/javascript; charset=utf-8", include_str!("page/chart.js")),
    ("/words.js", "text/javascript; charset=utf-8", include_str!("page/words.js")),
];

/// The response for a file of the page.
pub fn file(path: &str) -> Option<Response> {
    let (_, media_type, text) = FILES.iter().find(|(name, _, _)| *name == path)?;
    Some(respond(StatusCode::OK, media_type, *text))
}

#[cfg(test)]
mod tests {
    use engine::{Culprit, Fault};

    const SCRIPT: &str = include_str!("page/page.js");

    /// In its counts since the start, its lists and its curves alike.
    #[test]
    fn the_page_leaves_the_same_faults_to_load_and_to_clients_as_the_server() {
        let line = |words: &str| SCRIPT.lines().find(|line| line.starts_with(words)).unwrap();
        let (refusals, of_clients) = (line("const REFUSALS = "), line("const OF_CLIENTS = "));
        for (name, culprit) in Fault::NAMES {
            assert_eq!(refusals.contains(&format!(" {name}: \"")), culprit == Culprit::Load, "{name}");
            assert_eq!(of_clients.contains(&format!("\"{name}\"")), culprit == Culprit::Client, "{name}");
        }
    }

    /// What is replaced while it is pressed gets no click, and loses the focus.
    #[test]
    fn what_can_be_pressed_or_opened_is_not_replaced_each_second() {
        for (tag, make) in [("button", "appButton("), ("details", "pastRow(")] {
            assert_eq!(SCRIPT.matches(&format!("h(\"{tag}\"")).count(), 1, "{tag}");
            let is_call = |line: &&str| line.contains(make) && !line.starts_with("function ");
            let calls: Vec<&str> = SCRIPT.lines().filter(is_call).collect();
            assert!(!calls.is_empty() && calls.iter().all(|line| line.contains(" keep(host, ")), "{calls:?}");
        }
    }
}
