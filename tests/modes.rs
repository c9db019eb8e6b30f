//! The two modes of the original, and recycling: an interpreter that lives on keeps its state and shares none of it; a
//! fresh one per request keeps nothing; `--max-requests` replaces one after so many.

use std::collections::BTreeMap;

use crate::support::{Client, Server, at_once, paths};

const COUNTING: &[(&str, &str)] = &[
    ("/", "$n = ($n || 0) + 1; text(\"#{$me} #{$n}\")"),
    ("/boots", "text(FoolsGold.store.get(\"boots\"))"),
    ("/shared", "text(FoolsGold.requests.increment)"),
];

fn serve(options: &[&str]) -> Server {
    let ru = format!("$me = FoolsGold.store.increment(\"boots\")\n{}", paths(COUNTING));
    Server::start(&ru, options)
}

fn parse(text: &str) -> (u32, u32) {
    let (who, count) = text.split_once(' ').unwrap();
    (who.parse().unwrap(), count.parse().unwrap())
}

#[test]
fn prefork_keeps_the_state_of_each_interpreter_apart() {
    let server = serve(&["-t", "4"]);
    let ask = |client: &mut Client| parse(&client.get("/").text());
    let mut seen: Vec<(u32, u32)> = at_once(&server, 8, |client| (0..100).map(|_| ask(client)).collect());
    seen.sort_unstable();
    let mut last = BTreeMap::new();
    for (who, count) in &seen {
        assert_eq!(*count, last.get(who).unwrap_or(&0) + 1, "interpreter {who} counts without gaps");
        last.insert(*who, *count);
    }
    assert!(last.len() <= 4, "{last:?}");
    assert_eq!(last.values().sum::<u32>(), 800);
    assert_eq!(server.text("/boots"), "4");
}

#[test]
fn fresh_keeps_nothing() {
    let server = serve(&["-t", "2", "--fresh"]);
    let mut client = server.client();
    let mut names: Vec<u32> = (0..20)
        .map(|_| {
            let (who, count) = parse(&client.get("/").text());
            assert_eq!(count, 1, "nothing of an earlier request is seen");
            who
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 20, "every request had an interpreter of its own");
    assert_eq!((server.text("/shared"), server.text("/shared")), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn max_requests_replaces_an_interpreter() {
    let server = serve(&["-t", "1", "--max-requests", "5"]);
    let mut client = server.client();
    let counts: Vec<u32> = (0..20).map(|_| parse(&client.get("/").text()).1).collect();
    assert_eq!(counts, [1, 2, 3, 4, 5].repeat(4));
}

#[test]
fn recycling_under_load_fails_no_request() {
    for options in [&["-t", "4", "--max-requests", "7"][..], &["-t", "4", "--fresh"][..]] {
        let mut server = serve(options);
        let statuses: Vec<u16> = at_once(&server, 8, |client| (0..50).map(|_| client.get("/").status).collect());
        assert!(server.is_alive() && statuses.iter().all(|status| *status == 200), "{statuses:?}\n{}", server.log());
    }
}
