//! Reports of whole summaries: one fixture for each kind of study, with ties, a disqualification, missing contenders
//! and very long names. With ARENA_PAGES set to a folder, the pages are stored there for inspection.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use arena::record::folder::{Folder, read_summary};
use arena::record::summary::{
    Case, FORMAT, Measured, Plot, PlotKind, Published, Spread, Summary, Traffic, Verdict, Who,
};
use arena::report::splice::ShownRun;
use arena::report::{compare, index, page, splice, table};
use arena::stats;
use arena::study::shown;
use jiff::civil::Date;
use loadgen::metric::{DIVIDED, GENERATOR_WAITED, PARTS, PERCENTILES, RUN_QUEUE};

const NAMES: [&str; 6] =
    ["app-server-arena-quick", "duel", "fools-gold", "passenger-vs-mongrel", "prime-sums", "round-3"];

fn fixture(name: &str) -> Summary {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut summary = read_summary(&folder.join(format!("{name}.json"))).expect("a fixture");
    // The fixtures are from older programs; the present rules are applied to them.
    for case in &mut summary.cases {
        stats::rank(case);
    }
    summary
}

/// Stores a page if ARENA_PAGES is set.
fn keep(name: &str, html: &str) {
    if let Some(folder) = std::env::var_os("ARENA_PAGES").map(PathBuf::from) {
        fs::write(folder.join(format!("{name}.html")), html).expect("a folder to write to");
    }
}

fn terminal(summary: &Summary, width: u16) -> String {
    let mut out = Vec::new();
    table::print(summary, &mut out, width).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

/// A later run: another version of one contender, which became slower in one case and faster in another.
fn later(before: &Summary) -> Summary {
    let mut after = before.clone();
    after.started = "2026-12-01T10:00:00Z".into();
    after.contenders[0].version = "another version".into();
    after.machine.push(("governor".into(), "performance".into()));
    for (at, factor) in [(0, 0.5), (1, 2.0)] {
        let spread = after.cases[at].results[0].numbers.get_mut("requests_per_s").expect("a rate");
        *spread = Spread::of(&spread.all.iter().map(|rate| rate * factor).collect::<Vec<_>>()).expect("numbers");
    }
    after.cases.pop();
    after
}

#[test]
fn every_kind_of_study_has_a_page() {
    for name in NAMES {
        let summary = fixture(name);
        let html = page::html(&summary).expect(name);
        keep(name, &html);
        assert!(html.starts_with("<!doctype html>") && html.contains("</html>"), "{name}");
        let html = html.replace("url(#", "");
        for outside in ["src=\"", "@import", "url(", "<link rel=\"stylesheet\""] {
            assert!(!html.contains(outside), "{name} needs another file: {outside}");
        }
        assert!(html.contains("Content-Security-Policy\" content=\"default-src 'none'"), "{name}");
        assert!(!html.contains(">NaN") && !html.contains("undefined\n") && !html.contains("#01"), "{name}");
        // Runs are published without the logs of their servers.
        assert!(html.contains("unless the run was published without them, <code>logs/</code>"), "{name}");
        for case in &summary.cases {
            assert!(html.contains(&case.what.replace('/', "&#x2f;")), "{name} leaves out {}", case.name);
        }
        for who in summary.contenders.iter().filter(|who| !who.missing.is_empty()) {
            assert!(html.contains(&who.missing[0].replace('/', "&#x2f;")), "{name}: {} is silently left out", who.name);
        }
        // The two forms of a plot share a name and a description.
        let narrow = html.matches("<div class=\"narrow\">").count();
        assert_eq!(html.matches("<svg role=\"img\"").count(), html.matches("<desc id=").count() + narrow);
        for named in between(&html, "aria-labelledby=\"", "\"").into_iter().chain(between(&html, "href=\"#", "\"")) {
            assert!(html.contains(&format!("id=\"{named}\"")), "{name}: nothing is called {named}");
        }
        let ids = between(&html, " id=\"", "\"");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: an id stands twice");
    }
}

/// All texts between two marks.
fn between<'a>(text: &'a str, from: &'a str, to: &'a str) -> Vec<&'a str> {
    text.split(from).skip(1).filter_map(|rest| rest.split(to).next()).collect()
}

#[test]
fn a_contender_has_one_colour_everywhere_and_shares_it_with_nobody() {
    for name in NAMES {
        let html = page::html(&fixture(name)).expect(name);
        let mut colours: BTreeMap<&str, &str> = BTreeMap::new();
        for rule in between(&html, "\n[data-who=\"", "}") {
            let (who, colour) = rule.split_once("\"]{--own:").expect("a colour");
            assert_eq!(*colours.entry(who).or_insert(colour), colour, "{name}: {who} has two colours");
            assert!(html.contains(&format!("<symbol id=\"m{who}\"")), "{name}: {who} has no mark");
        }
        for group in between(&html, "<g data-who=\"", "\"") {
            assert!(colours.contains_key(group), "{name}: {group} has no colour");
        }
        let different: BTreeSet<&&str> = colours.values().collect();
        assert_eq!(different.len(), colours.len(), "{name}: {colours:?}");
        assert!(!colours.is_empty(), "{name} has no picture");
    }
}

#[test]
fn figures_are_exact_under_a_pointer_and_named_on_a_phone() {
    let html = page::html(&fixture("prime-sums")).expect("a page");
    let bars = between(&html, "<title>FoolsGold, mruby inside\n", "</title>");
    assert!(bars.iter().any(|words| words.starts_with("Rate: ") && words.ends_with(" rounds")), "{bars:?}");
    let html = page::html(&fixture("round-3")).expect("a page");
    let points: Vec<&str> = between(&html, "data-found=\"", "\"").into_iter().flat_map(|it| it.split(';')).collect();
    assert!(points.len() > 50 && points.iter().all(|point| point.split('|').count() == 2), "{points:?}");
    assert!(points.iter().any(|point| point.contains("requests/s, ") && point.contains("× (")), "{points:?}");
    assert!(points.iter().any(|point| point.contains(" ms")));
    for name in NAMES {
        let html = page::html(&fixture(name)).expect(name);
        for table in between(&html, "<table class=\"figures", "</table>") {
            let columns = table.matches("<th scope=\"col\"").count();
            assert_eq!(
                table.matches(";--h").count() + 1,
                columns,
                "{name}: figures that say on no phone what they are"
            );
        }
    }
}

/// A summary with these figures: rates of three rounds.
fn of_rates(figures: &[(&str, [f64; 3])]) -> Summary {
    let result = |(name, all): &(&str, [f64; 3])| Measured {
        contender: (*name).to_owned(),
        numbers: [("requests_per_s".to_owned(), Spread::of(all).expect("numbers"))].into(),
        ..Measured::default()
    };
    let results = figures.iter().map(result).collect();
    let mut case = Case { name: "c".into(), metrics: vec!["requests_per_s".into()], results, ..Case::default() };
    stats::rank(&mut case);
    Summary { format: FORMAT, study: "s".into(), rounds: 3, cases: vec![case], ..Summary::default() }
}

#[test]
fn what_stands_beside_a_median_is_the_interval_that_decides_wherever_it_stands() {
    // The lowest and the highest round of the first two lie apart; their interval includes 1.
    let summary =
        of_rates(&[("best", [100.0, 101.0, 102.0]), ("level", [80.0, 99.0, 90.0]), ("apart", [49.0, 50.0, 51.0])]);
    let place = "<!-- arena:begin s -->\n<!-- arena:end s -->";
    let shown = ShownRun { summary: &summary, link: "runs/a" };
    let pages = [
        page::html(&summary).expect("a page").replace('\u{202f}', " "),
        terminal(&summary, 120),
        splice::splice(place, "s", shown).expect("a table"),
    ];
    for text in pages {
        assert!(text.contains("0.88× (0.47–1.65)") && text.contains("0.50× (0.47–0.53)"), "{text}");
        assert!(text.contains("98 % interval"), "it says what stands there: {text}");
        assert!(!text.contains("80.0–99.0") && !text.contains("100–102"), "a range of rounds: {text}");
    }
    let table = splice::splice(place, "s", shown).expect("a table");
    for cell in ["| best | **101**<br><sub>1×</sub> |", "| level | **90.0**<br>", "| apart | 50.0<br>"] {
        assert!(table.contains(cell), "{cell} in {table}");
    }
    let compared = compare::words(&summary, &summary, 110).expect("a comparison");
    assert!(!compared.contains("80.0") && compared.contains("1.00×"), "{compared}");
}

#[test]
fn a_run_of_twenty_contenders_has_a_small_page_and_a_small_summary() {
    let mut rng = stats::SeededRng::from_seed(7);
    let mut number =
        |of: &str| (of.to_owned(), Spread::of(&[1.0, 2.0, 3.0].map(|_| (rng.fraction() * 1e4).round() / 1e2)));
    let names: Vec<String> = (0..20).map(|at| format!("server-{at}, 2 × 5")).collect();
    let shown = ["requests_per_s", "mean_ms", "p50_ms", "p99_ms", "failed", "cpu_us_per_request", "pss_peak_mib"];
    let percentiles = PERCENTILES.iter().map(|(_, name)| *name);
    let plain: Vec<&str> = shown.into_iter().chain(percentiles).collect();
    let divided: Vec<&str> = plain.iter().copied().chain(PARTS).chain([DIVIDED, RUN_QUEUE]).collect();
    let mut result = |name: &String, all: &[&str]| {
        let numbers = all.iter().map(|of| number(of)).filter_map(|(of, spread)| Some((of, spread?)));
        let requests = ("requests".to_owned(), Spread::of(&[30_000.0; 3]).expect("numbers"));
        let course =
            |name: &str| (name.to_owned(), (0..16).map(|at| (f64::from(at) * 0.5, f64::from(at * 7 % 5))).collect());
        Measured {
            contender: name.clone(),
            numbers: numbers.chain([requests]).collect(),
            course: [course("processors"), course("pss_mib")].into(),
            ..Measured::default()
        }
    };
    let mut case = |at: u32| {
        // As in the prime sums: steps of a ladder are not divided.
        let all = if at.is_multiple_of(2) { &divided } else { &plain };
        let results = names.iter().map(|name| result(name, all)).collect();
        let mut case = Case { name: format!("c{at}"), results, ..Case::default() };
        case.metrics = shown.map(str::to_owned).into();
        stats::rank(&mut case);
        case
    };
    let cases = (0..14).map(&mut case).collect();
    let contenders =
        names.iter().map(|name| Who { name: name.clone(), title: name.clone(), ..Who::default() }).collect();
    let summary = Summary { format: FORMAT, rounds: 3, cases, contenders, ..Summary::default() };
    let html = page::html(&summary).expect("a page");
    keep("twenty", &html);
    assert!(html.len() < 1_100_000, "the page has {} bytes", html.len());
    let folder = tempfile::tempdir().expect("a folder");
    let run = Folder::create(folder.path(), "s", &serde_json::json!({})).expect("a run folder");
    run.write_summary(&summary).expect("a summary");
    let path = run.path().join("summary.json");
    let text = fs::read_to_string(&path).expect("a summary");
    assert!(text.len() < 600_000, "the summary has {} bytes", text.len());
    let read = read_summary(&path).expect("the same");
    assert_eq!(read.cases.len(), summary.cases.len());
    for (one, other) in read.cases[3].results[5].numbers.values().zip(summary.cases[3].results[5].numbers.values()) {
        assert_eq!((one.median, one.low, one.high, &one.all), (other.median, other.low, other.high, &other.all));
    }
}

/// Runs the page with a script in a browser and returns the text of the element `seen`; `None` without a browser.
fn in_a_browser(html: &str, script: &str) -> Option<String> {
    in_a_browser_of(&[(1400, html)], script)?.pop()
}

/// The same for several pages in one browser, since its start takes longer than a page. Each is in a frame that is so
/// many pixels wide: a window has a least width.
fn in_a_browser_of(pages: &[(u32, &str)], script: &str) -> Option<Vec<String>> {
    let named = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(named)?;
    let folder = tempfile::tempdir().expect("a folder");
    let (page, profile) = (folder.path().join("page.html"), folder.path().join("profile"));
    let hears = "document.getElementById('seen-' + it.data[0]).textContent = it.data[1]";
    let hears = format!("<script>addEventListener('message', function (it) {{ {hears}; }});</script>");
    let mut outer = format!("<!doctype html><body>{hears}");
    for (at, (pixels, html)) in pages.iter().enumerate() {
        let tells = format!("parent.postMessage([{at}, document.getElementById('seen').textContent], '*')");
        let script = format!("<pre id=\"seen\"></pre><script>{script}\n{tells};</script></body>");
        fs::write(folder.path().join(format!("{at}.html")), html.replace("</body>", &script)).expect("a page");
        let style = format!("border:0;width:{pixels}px;height:900px");
        outer += &format!("<pre id=\"seen-{at}\"></pre><iframe src=\"{at}.html\" style=\"{style}\"></iframe>");
    }
    fs::write(&page, outer).expect("a page");
    let mut command = Command::new("timeout");
    command.args([
        "120",
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1600,1000",
        "--virtual-time-budget=10000",
        "--dump-dom",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}", page.display()));
    let out = command.output().expect("timeout starts");
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    let seen = |at: usize| {
        let begin = format!("<pre id=\"seen-{at}\">");
        let found = between(&dom, &begin, "</pre>").concat();
        assert!(!found.is_empty(), "{browser} shows nothing of page {at}: {}", String::from_utf8_lossy(&out.stderr));
        found
    };
    Some((0..pages.len()).map(seen).collect())
}

#[test]
fn pointers_keys_and_switches_work_in_a_browser() {
    let mut summary = fixture("prime-sums");
    for (at, result) in summary.cases[0].results.iter_mut().enumerate() {
        let course = (0..5).map(|second| (f64::from(second), (at + 1) as f64)).collect();
        result.course.insert("pss_mib".into(), course);
    }
    let script = r#"
        var seen = document.getElementById("seen"), tip = document.querySelector(".tip");
        var say = function (what) { seen.textContent += what + (tip.hidden ? "nothing" : tip.textContent) + "\n"; };
        var move = function (on, x, y) {
          var box = on.getBoundingClientRect(), left = box.left + box.width * x, top = box.top + box.height * y;
          on.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: left, clientY: top }));
        };
        document.querySelectorAll("details").forEach(function (it) { it.open = true; });
        move(document.querySelector(".wide .row"), .5, .5); say("bar: ");
        var time = document.querySelector("[data-x=seconds]").closest(".drawn");
        var svg = time.querySelector(".only svg"), buttons = time.querySelectorAll(".legend button");
        move(svg, .4, .5); say("second: ");
        svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" })); say("key: ");
        svg.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })); say("escape: ");
        buttons[0].click(); move(svg, .4, .5); say("without the first: ");
        buttons[1].dispatchEvent(new MouseEvent("dblclick")); move(svg, .4, .5); say("the second alone: ");
        say("titles left: " + document.querySelectorAll(".drawn g > title").length + " ");
    "#;
    // Not every machine has a browser.
    let Some(seen) = in_a_browser(&page::html(&summary).expect("a page"), script) else { return };
    let lines: BTreeMap<&str, &str> = seen.lines().filter_map(|line| line.split_once(": ")).collect();
    assert!(lines["bar"].contains("Rate: ") && lines["bar"].contains(" requests/s, 1×"), "{seen}");
    let titles: Vec<&str> = summary.contenders.iter().map(|who| who.title.as_str()).collect();
    let named = |line: &str| titles.iter().filter(|title| lines[line].contains(**title)).count();
    let all = summary.cases[0].results.iter().filter(|result| result.disqualified.is_none()).count();
    assert!(
        lines["second"].starts_with("seconds: 2") && lines["second"].contains(" MiB") && named("second") >= all,
        "{seen}"
    );
    assert!(lines["key"].starts_with("seconds: 0") && lines["escape"] == "nothing", "{seen}");
    assert_eq!(lines["without the first"].matches(" MiB").count(), all - 1, "{seen}");
    assert_eq!(lines["the second alone"].matches(" MiB").count(), 1, "{seen}");
    assert!(lines["titles left"].starts_with("0 "), "{seen}");
}

#[test]
fn no_table_is_cut_on_a_wide_screen_nor_on_a_phone() {
    // Of each table that is wider than what shows it, or sticks out of the window: what it is, and by how much.
    let script = r#"
        document.querySelectorAll("details").forEach(function (it) { it.open = true; });
        var width = document.documentElement.clientWidth, tables = document.querySelectorAll("table");
        var found = ["width " + innerWidth, "tables " + tables.length];
        tables.forEach(function (table) {
          var around = table.closest(".scroll"), box = table.getBoundingClientRect();
          var hidden = Math.max(around.scrollWidth - around.clientWidth, box.right - width, -box.left);
          table.querySelectorAll("tbody td, tbody th").forEach(function (cell) {
            var it = cell.getBoundingClientRect();
            hidden = Math.max(hidden, it.right - width, cell.scrollWidth - cell.clientWidth - 1);
          });
          if (hidden > 1) found.push(around.getAttribute("aria-label") + " by " + Math.round(hidden));
        });
        document.getElementById("seen").textContent = found.join("\n");
    "#;
    let runs = NAMES.map(|name| (name, fixture(name))).into_iter().chain([("a run of now", committed())]);
    let pages: Vec<(&str, String)> = runs.map(|(name, summary)| (name, page::html(&summary).expect(name))).collect();
    for (pixels, text) in [(1400, "on a wide screen"), (390, "on a phone")] {
        let frames: Vec<(u32, &str)> = pages.iter().map(|(_, html)| (pixels, html.as_str())).collect();
        // Not every machine has a browser.
        let Some(seen) = in_a_browser_of(&frames, script) else { return };
        for ((name, _), seen) in pages.iter().zip(&seen) {
            let lines: Vec<&str> = seen.lines().collect();
            assert_eq!(lines[0], format!("width {pixels}"), "{name}");
            assert!(lines[1] != "tables 0" && lines.len() == 2, "{name} {text}: {lines:?}");
        }
    }
}

/// A run of this repository whose page has all that a study's page can have.
fn committed() -> Summary {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Folder::open(&root.join("arena/runs/2026-11-30-fools-gold")).expect("a run");
    shown(&root, &folder).expect("a summary")
}

#[test]
fn every_text_can_be_read_in_the_light_and_in_the_dark() {
    // The lowest contrast of a text to what is behind it (WCAG 2.2, 1.4.3: 4.5 to 1), with the text.
    let script = r#"
        var canvas = document.createElement("canvas"), pen = canvas.getContext("2d", { willReadFrequently: true });
        canvas.width = canvas.height = 1;
        var mixed = function (colours) {
          colours.forEach(function (it) { pen.fillStyle = it; pen.fillRect(0, 0, 1, 1); });
          var light = Array.from(pen.getImageData(0, 0, 1, 1).data).slice(0, 3).map(function (part) {
            var share = part / 255;
            return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
          });
          return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
        };
        var found = [];
        document.querySelectorAll("details").forEach(function (it) { it.open = true; });
        ["light", "dark"].forEach(function (theme) {
          document.documentElement.dataset.theme = theme;
          var least = 99, worst = "", texts = 0;
          document.querySelectorAll("main *, body > *").forEach(function (it) {
            var isText = function (node) { return node.nodeType === 3 && node.data.trim(); };
            var has = Array.from(it.childNodes).some(isText);
            if (!has || !it.getClientRects().length || it.closest("title, style, script, #seen, [hidden]")) return;
            var style = getComputedStyle(it), behind = [];
            if (style.visibility === "hidden") return;
            for (var up = it; up; up = up.parentElement) behind.unshift(getComputedStyle(up).backgroundColor);
            behind.unshift(theme === "dark" ? "black" : "white");
            var text = it instanceof SVGElement ? style.fill : style.color;
            var one = mixed(behind), other = mixed(behind.concat(text));
            var contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            texts += 1;
            if (contrast >= least) return;
            least = contrast;
            worst = it.tagName + "." + it.className + " " + it.textContent.trim().slice(0, 40);
          });
          found.push(theme + " " + texts + " " + least.toFixed(2) + " " + worst.replace(/\s+/g, " "));
        });
        document.getElementById("seen").textContent = found.join("\n");
    "#;
    for (name, summary) in [("duel", fixture("duel")), ("fools-gold", committed())] {
        let html = page::html(&summary).expect(name);
        // Not every machine has a browser.
        let Some(seen) = in_a_browser(&html, script) else { return };
        let lines: Vec<Vec<&str>> = seen.lines().map(|line| line.splitn(4, ' ').collect()).collect();
        assert_eq!(lines.len(), 2, "{name}: {seen}");
        for line in lines {
            let number = |at: usize| line[at].parse::<f64>().expect("a number");
            assert!(number(1) > 100.0 && number(2) >= 4.5, "{name}: {line:?}");
        }
    }
}

#[test]
fn a_curve_of_nothing_is_told_in_words() {
    let mut summary = fixture("round-3");
    for result in summary.cases.iter_mut().flat_map(|case| &mut case.results) {
        result.numbers.remove("p99_ms");
    }
    let html = page::html(&summary).expect("a page");
    assert!(html.contains("Nobody has a figure for this.") && !html.contains("<title id=\"curve-3-t\">"));
    assert!(terminal(&summary, 120).contains(" is better)\nNobody has a figure for this."));
}

#[test]
fn a_table_without_figures_is_printed_nowhere() {
    // As of a quick run: loads at equal rates begin in the second round.
    let mut summary = fixture("round-3");
    let title = "Latency at the same rate for all";
    let plot = Plot { title: title.into(), kind: PlotKind::Lines, metric: "p99_ms".into(), ..Plot::default() };
    summary.plots.push(Plot { cases: vec!["ladder=50".into(), "ladder=80".into()], ..plot });
    let html = page::html(&summary).expect("a page");
    assert!(html.contains("<h2>Curves</h2>") && !html.contains(title), "{html}");
    assert!(!terminal(&summary, 120).contains(title), "{}", terminal(&summary, 120));

    // A second with 200 requests has no p99, nor has one who is disqualified.
    let why = "p99 is not shown: a round has only 200 requests, and 400 are needed";
    let few = Measured { contender: "few".into(), remarks: vec![why.into()], ..Measured::default() };
    let lies = Measured { contender: "liar".into(), disqualified: Some("lies".into()), ..Measured::default() };
    let case = |name: &str, title: &str| Case {
        name: name.into(),
        title: title.into(),
        metrics: vec!["p99_ms".into()],
        results: vec![few.clone(), lies.clone()],
        ..Case::default()
    };
    summary = of_rates(&[]);
    summary.cases = vec![case("a", "The first"), case("b", "The second")];
    let (html, text) = (page::html(&summary).expect("a page"), terminal(&summary, 120));
    for of_figures in ["<table", "At a glance", "Bars are medians"] {
        assert!(!html.contains(of_figures), "{of_figures}: {html}");
    }
    assert!(html.contains("<h3>The first</h3>") && html.contains(why), "{html}");
    assert!(text.contains("The second\nNobody could be ranked.\nOf few: p99 is not") && !text.contains('─'), "{text}");
    let compared = compare::html(&summary, &summary).expect("a page");
    assert!(!compared.contains("The first"), "{compared}");
    // The only one with figures is disqualified.
    let mut summary = of_rates(&[("liar", [9.0, 9.1, 9.2])]);
    summary.cases[0].results[0].disqualified = Some("lies".into());
    summary.cases[0].results.push(few);
    assert!(!terminal(&summary, 120).contains('─'), "{}", terminal(&summary, 120));
}

#[test]
fn a_remark_on_several_contenders_is_said_once() {
    let words = "it is not known whether the rate had settled before the load";
    let mut summary = of_rates(&[("a", [9.0, 9.1, 9.2]), ("b", [8.0, 8.1, 8.2]), ("c", [7.0, 7.1, 7.2])]);
    for result in &mut summary.cases[0].results {
        result.remarks = vec![words.to_owned()];
    }
    let html = page::html(&summary).expect("a page");
    assert!(html.matches(words).count() == 1 && html.contains("<span>all contenders</span>"), "{html}");
    let text = terminal(&summary, 120);
    assert!(text.matches(words).count() == 1 && text.contains(&format!("Of all contenders: {words}.")), "{text}");
    // Nor for each place of a curve.
    summary.cases[0].x = Some(50.0);
    summary.cases.push(Case { name: "d".into(), x: Some(80.0), ..summary.cases[0].clone() });
    let cases = vec!["c".to_owned(), "d".to_owned()];
    let plot = Plot { kind: PlotKind::Lines, metric: "requests_per_s".into(), cases, ..Plot::default() };
    summary.plots.push(plot);
    let text = terminal(&summary, 120);
    assert!(text.matches(words).count() == 1 && text.contains("At 50 and 80, all contenders: it is not"), "{text}");
}

#[test]
fn every_winner_of_a_use_is_named() {
    let of = |names: &[&str]| {
        let mut summary = of_rates(&[("a", [9.0, 9.1, 9.2])]);
        let winners = names.iter().map(|name| (*name).to_owned()).collect();
        summary.verdicts = vec![Verdict { use_case: "a use".into(), winners, ..Verdict::default() }];
        page::html(&summary).expect("a page")
    };
    let five = of(&["a", "b", "c", "d", "e"]);
    assert!(five.contains("<span>e</span>") && !five.contains(" more</span>"), "{five}");
    let six = of(&["a", "b", "c", "d", "e", "f"]);
    assert!(six.contains("<span class=\"quiet\" title=\"e and f\">and 2 more</span>"), "{six}");
}

#[test]
fn what_a_server_takes_at_the_users_rate_is_drawn() {
    let mut summary = of_rates(&[("a", [9.0, 9.1, 9.2]), ("b", [9.0, 9.1, 9.2])]);
    let case = &mut summary.cases[0];
    case.metrics = ["p99_ms", "p50_ms", "p999_ms", "pss_peak_mib"].map(str::to_owned).into();
    for (result, factor) in case.results.iter_mut().zip([1.0, 2.0]) {
        // There were too few requests for a p99.9.
        for (name, number) in [("p50_ms", 1.0), ("p99_ms", 5.0), ("pss_peak_mib", 80.0)] {
            let rounds = [0.99, 1.0, 1.01].map(|share| share * number * factor);
            result.numbers.insert(name.into(), Spread::of(&rounds).expect("numbers"));
        }
    }
    stats::rank(case);
    // Why there is none stands below the table.
    let words = "p99.9 is not shown: a round has only 771 requests, and 4000 are needed";
    case.results.iter_mut().for_each(|result| result.remarks.push(words.to_owned()));
    case.x = Some(9.0);
    let (kind, metric, cases) = (PlotKind::Lines, "p99_ms".to_owned(), vec!["c".to_owned()]);
    summary.plots = vec![Plot { kind, metric, cases, ..Plot::default() }];
    summary.traffic = Some(Traffic { cases: vec!["c".into()], per_s: 9.0, cores: 2, ..Traffic::default() });
    let html = page::html(&summary).expect("a page");
    keep("at-rate", &html);
    let section = between(&html, "<section id=\"traffic\">", "</section>")[0];
    assert!(section.contains(words), "{html}");
    // Its curve may be the only one of the page.
    assert!(section.contains("id=\"curve-1\"") && section.contains("bar behind one is the 98 % interval"), "{html}");
    let drawn = between(&html, "<title id=\"at-rate-t\">", "</title>");
    assert_eq!(drawn, [": p50 and p99 and Memory, peak"], "{html}");
    assert!(html.contains("p50, ms: a: 1.00, 1×; b: 2.00, 2.00×"), "{html}");
}

#[test]
fn the_twin_has_a_row_in_the_table_at_the_users_rate() {
    let mut summary = of_rates(&[("a", [9.0, 9.1, 9.2]), ("b", [8.0, 8.1, 8.2])]);
    let numbers = [("requests_per_s".to_owned(), Spread::of(&[7.0, 7.1, 7.2]).expect("numbers"))].into();
    summary.cases[0].twin = Some(Measured { contender: "twin".into(), numbers, ..Measured::default() });
    summary.twin_of = Some("a".into());
    let title = "the twin of a";
    assert!(page::html(&summary).is_ok_and(|html| !html.contains(title)), "a study has no such row");
    summary.traffic = Some(Traffic { cases: vec!["c".into()], per_s: 9.0, cores: 2, ..Traffic::default() });
    let html = page::html(&summary).expect("a page");
    let table = between(&html, "<section id=\"traffic\">", "</table>")[0];
    let rows: Vec<&str> = between(table, "<tr", "</tr>").into_iter().filter(|row| row.contains("<td")).collect();
    assert!(rows.len() == 3 && rows[2].contains(title) && rows[2].contains("<td>7.10</td>"), "{table}");
    let text = terminal(&summary, 120);
    assert!(text.lines().any(|line| line.contains(title) && line.trim_end().ends_with("7.10")), "{text}");
}

#[test]
fn the_errors_of_the_twin_are_listed_below_its_case() {
    let mut summary = of_rates(&[("a", [9.0, 9.1, 9.2])]);
    let own = summary.cases[0].results[0].clone();
    let errors = [("timeout".to_owned(), 7), ("read".to_owned(), 0)].into();
    summary.cases[0].twin = Some(Measured { contender: "twin".into(), errors, ..own });
    let html = page::html(&summary).expect("a page");
    assert!(html.contains("<span>the twin</span></span> 7 × timeout</dd>"), "{html}");
    let text = terminal(&summary, 120);
    assert!(text.contains("\nErrors of the twin: 7 × timeout.\n"), "{text}");
}

#[test]
fn what_must_be_said_is_said() {
    assert!(page::html(&fixture("app-server-arena-quick")).is_ok_and(|html| html.contains("not to be believed")));
    let html = page::html(&fixture("prime-sums")).expect("a page");
    assert!(html.contains("Disqualified") && html.contains("Request queue full"));
    assert!(html.contains("As the original study published it") && html.contains("54\u{202f}915"));
    let html = page::html(&fixture("duel")).expect("a page");
    assert!(html.contains("How sure this is") && html.contains("Recommendation"));
    assert!(html.contains("counted &lt;while it ran&gt;"));
}

#[test]
fn who_is_not_ranked_is_hatched_in_the_picture_of_its_case_on_both_screens() {
    let mut summary = fixture("prime-sums");
    summary.cases.truncate(1);
    let counts = |summary: &Summary| {
        let html = page::html(summary).expect("a page");
        let figure = html.split("</figure>").next().expect("the first picture").to_owned();
        (
            figure.matches("class=\"s-o bar n\"").count(),
            figure.matches("not ranked: 34.0 % failed</text>").count(),
            html,
        )
    };
    let before = counts(&summary);
    assert_eq!((before.0, before.1), (0, 0), "all that have a bar are ranked");
    let metric = summary.cases[0].metrics[0].clone();
    let failing = summary.cases[0].results.iter_mut().find(|one| one.numbers.contains_key(&metric)).expect("one");
    for (name, number) in [("failed", 34.0), ("requests", 66.0)] {
        failing.numbers.insert(name.into(), Spread::of(&[number]).expect("a number"));
    }
    stats::rank(&mut summary.cases[0]);
    let (hatched, words, html) = counts(&summary);
    assert!(hatched >= 2 && hatched == words, "in the wide form and the narrow one: {hatched} {words}");
    assert!(html.contains("\nnot ranked: 34.0 % failed</title>"), "under a pointer as well");
}

#[test]
fn a_run_that_is_not_as_the_method_wants_it_says_so_wherever_it_is_shown() {
    let mut summary = fixture("duel");
    summary.shortcomings = vec!["no twin".to_owned(), "2 rounds of at least 3".to_owned()];
    let html = page::html(&summary).expect("a page");
    let head = html.split("<header").next().expect("what stands on top").to_owned();
    assert!(head.contains("Not a run as the arena’s METHOD wants it.</strong> no twin; 2 rounds of at least 3."));
    let lists = index::html(&[("x.html".to_owned(), summary.clone())]).expect("a page");
    assert!(lists.contains("METHOD wants it: no twin; 2 rounds"), "{lists}");
    assert!(terminal(&summary, 120).contains("NOT A RUN AS METHOD.md WANTS IT: no twin; 2 rounds of at least 3."));
    let compared = compare::words(&summary, &fixture("duel"), 110).expect("a comparison");
    assert!(compared.contains("METHOD.md wants it: the run before: no twin"), "{compared}");
    assert!(compare::html(&summary, &summary).is_ok_and(|html| html.contains("the run after: no twin")));

    // Its recommendation is of a program that told contenders apart by another rule.
    assert!(html.contains("made by an older rule") && lists.contains("By an older rule"), "{html}");
    assert!(terminal(&summary, 120).contains("By an older rule than the one of this page: For this app"));
    summary.advice.as_mut().expect("advice").rule = stats::rule();
    assert!(page::html(&summary).is_ok_and(|html| !html.contains("older rule")));
    assert!(page::html(&fixture("prime-sums")).is_ok_and(|html| !html.contains("METHOD wants it")));
}

#[test]
fn how_long_the_load_generator_waited_stands_below_each_table_with_latencies() {
    let mut summary = fixture("prime-sums");
    let said = "wrk itself waited for a processor for ";
    assert!(page::html(&summary).is_ok_and(|html| !html.contains(said)), "a run of before does not say it");
    for result in summary.cases.iter_mut().flat_map(|case| &mut case.results) {
        result.numbers.insert(GENERATOR_WAITED.to_owned(), Spread::of(&[12.0]).expect("a number"));
    }
    let html = page::html(&summary).expect("a page");
    assert_eq!(html.matches(said).count(), summary.cases.len());
}

#[test]
fn nothing_in_a_summary_becomes_markup() {
    let evil = "</title><script>alert(1)</script>\"'&<img src=x>";
    let number = |name: &str| (name.to_owned(), Spread::of(&[1.0, 2.0]).expect("numbers"));
    let case = |name: &str, x: Option<f64>| Case {
        name: name.into(),
        title: evil.into(),
        what: evil.into(),
        metrics: vec!["requests_per_s".into()],
        x,
        results: vec![
            Measured {
                contender: evil.into(),
                numbers: [number("requests_per_s")].into(),
                errors: [(evil.to_owned(), 3)].into(),
                remarks: vec![evil.into()],
                ..Measured::default()
            },
            Measured { contender: "b".into(), disqualified: Some(evil.into()), ..Measured::default() },
        ],
        published: vec![Published { server: evil.into(), contender: None, numbers: BTreeMap::new() }],
        ranking: vec![vec![evil.into()]],
        twin: Some(Measured { contender: evil.into(), remarks: vec![evil.into()], ..Measured::default() }),
        ..Case::default()
    };
    let plot = |kind| Plot {
        title: evil.into(),
        kind,
        metric: "requests_per_s".into(),
        cases: vec!["a".into(), "b".into()],
        x_title: evil.into(),
        is_log: true,
        mark: None,
    };
    let who = Who { name: evil.into(), title: evil.into(), commands: vec![evil.into()], ..Who::default() };
    let summary = Summary {
        format: FORMAT,
        title: evil.into(),
        question: evil.into(),
        contenders: vec![who],
        cases: vec![case("a", Some(1.0)), case("b", Some(2.0)), case("c", None)],
        plots: vec![plot(PlotKind::Bars), plot(PlotKind::Lines)],
        notes: vec![evil.into()],
        command: evil.into(),
        machine: vec![(evil.into(), evil.into())],
        shortcomings: vec![evil.into()],
        ..Summary::default()
    };
    let pages = [
        page::html(&summary).expect("a page"),
        compare::html(&summary, &summary).expect("a page"),
        index::html(&[(evil.to_owned(), summary.clone())]).expect("a page"),
    ];
    for html in pages {
        assert!(!html.contains("<script>alert") && !html.contains("<img"), "{html}");
    }
    let place = "<!-- arena:begin a -->\n<!-- arena:end a -->";
    let shown = ShownRun { summary: &summary, link: "runs/a" };
    assert!(splice::splice(place, "a", shown).is_ok_and(|text| !text.contains(" <script>")));
}

#[test]
fn odd_summaries_have_pages_too() {
    assert!(page::html(&Summary::default()).is_ok());
    assert!(index::html(&[]).is_ok());
    let mut summary = fixture("prime-sums");
    for result in summary.cases.iter_mut().flat_map(|case| &mut case.results) {
        result.numbers.clear();
    }
    assert!(page::html(&summary).is_ok(), "nobody has a figure");
    let mut summary = fixture("round-3");
    for result in summary.cases.iter_mut().flat_map(|case| &mut case.results) {
        for spread in result.numbers.values_mut() {
            *spread = Spread { median: f64::NAN, low: 0.0, high: f64::INFINITY, all: vec![], at: vec![] };
        }
    }
    assert!(page::html(&summary).is_ok_and(|html| !html.contains(">NaN")));
    summary.plots[0].metric = "nonsense".into();
    assert!(page::html(&summary).is_err_and(|text| text.contains("nonsense")));
}

#[test]
fn tables_fit_the_terminal() {
    for name in NAMES {
        let summary = fixture(name);
        for width in [60, 80, 120, 200] {
            let text = terminal(&summary, width);
            // Titles, headings of curves and commands are not wrapped.
            let whole = |line: &&str| line.starts_with("  $") || line.contains(" is better)");
            let broken = text.lines().filter(|line| !whole(line));
            let widest = broken.map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= usize::from(width), "{name} at {width}: {widest}\n{text}");
        }
        keep(&format!("{name}.txt"), &terminal(&summary, 110));
    }
    let text = terminal(&fixture("prime-sums"), 120);
    assert!(text.contains("★ FoolsGold, mruby inside") && text.contains("DISQUALIFIED: Passenger standalone"));
    assert!(text.contains("(puma, published)") && text.contains("Missing: Falcon: the gem falcon"));
    assert!(terminal(&fixture("app-server-arena-quick"), 80).contains("QUICK RUN"));
}

#[test]
fn runs_are_compared() {
    let before = fixture("prime-sums");
    let after = later(&before);
    let words = compare::words(&before, &after, 110).expect("a comparison");
    keep("compare.txt", &words);
    assert!(words.contains("1 better, 1 worse and"), "{words}");
    assert!(words.contains("Changed: version of FoolsGold, mruby inside: foolsgold 0.1.0 (774f7a5), then another"));
    assert!(words.contains("Changed: governor: not recorded, then performance"));
    assert!(words.contains("Only in one: Roda, 10 000 primes, cached (before)"));
    let same = compare::words(&before, &before, 110).expect("a comparison");
    assert!(same.contains("figures that rank are told apart; ") && !same.contains("Changed"), "{same}");
    let html = compare::html(&before, &after).expect("a page");
    keep("compare", &html);
    // The present rule, not the former one.
    assert!(html.contains("its 98 % t interval (Student’s t") && html.contains("at least 5 % off"), "{html}");
    assert!(!html.contains("ranges of their rounds touch"), "{html}");
    assert!(compare::words(&before, &fixture("duel"), 110).is_err_and(|text| text.contains("only runs of one study")));
}

#[test]
fn the_index_leads_to_every_run() {
    let runs: Vec<(String, Summary)> = NAMES.iter().map(|name| (format!("{name}.html"), fixture(name))).collect();
    let html = index::html(&runs).expect("a page");
    keep("index", &html);
    for (link, summary) in &runs {
        assert!(html.contains(&format!("href=\"{link}\"")) && html.contains(&summary.study));
    }
}

#[test]
fn a_page_of_markdown_is_kept_current() {
    for name in NAMES {
        let summary = fixture(name);
        let page = format!("# T\n\n<!-- arena:begin {name} -->\n<!-- arena:end {name} -->\n\nEnd.\n");
        let shown = ShownRun { summary: &summary, link: "arena/runs/x" };
        let new = splice::splice(&page, name, shown).expect(name);
        keep(&format!("{name}.md"), &new);
        assert!(new.contains("**") && new.contains("[Run](arena/runs/x)") && new.ends_with("End.\n"), "{new}");
        assert_eq!(splice::splice(&new, name, shown), Ok(new));
    }
}

/// The README and the pages with tables show no run that is of a release further back than this. As long as there has
/// been no release, [`COMMITS_BACK`] is the bound that can be passed.
const RELEASES_BACK: usize = 1;
/// Nor one of a program of more commits ago than this, where the history is here.
const COMMITS_BACK: usize = 300;
/// Day since which the version of a run includes its commit.
const COMMITS_SINCE: &str = "2026-11-24";
/// The runs of a page are of a time within this many days: beside a new one, an old one misleads.
const DAYS_APART: i32 = 21;

/// The runs that a page shows, by their paths from the root.
fn runs_of(page: &str) -> BTreeSet<&str> {
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let inside = links.map(|link| link.trim_start_matches("../").trim_end_matches('/'));
    let runs: BTreeSet<&str> = inside.filter(|link| link.starts_with("arena/runs/")).collect();
    assert!(!runs.is_empty(), "the page shows no run");
    runs
}

/// How many commits lie between one and today's; `None` where that one is not among today's ancestors.
type Since<'a> = &'a dyn Fn(&str) -> Option<usize>;

/// The output of git in a folder, if it succeeds.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether the whole history is in this folder: it is not in an archive, nor in a shallow clone.
fn has_history(folder: &Path) -> bool {
    // A folder without a repository of its own may lie in another one.
    let is_shallow = git(folder, &["rev-parse", "--is-shallow-repository"]).filter(|_| folder.join(".git").exists());
    is_shallow.as_deref() == Some("false")
}

fn commits_since(folder: &Path, commit: &str) -> Option<usize> {
    git(folder, &["merge-base", "--is-ancestor", commit, "HEAD"])?;
    git(folder, &["rev-list", "--count", &format!("{commit}..HEAD")])?.parse().ok()
}

/// What is wrong with the runs that a page shows, by the releases of the program, newest first, and by its commits,
/// where the history is known.
fn unfit(page: &str, releases: &[&str], since: Option<Since>, run: &dyn Fn(&str) -> Summary) -> Vec<String> {
    let mut found = Vec::new();
    let day = |path: &str| run(path).started.get(..10).and_then(|day| day.parse::<Date>().ok());
    let newest = runs_of(page).into_iter().filter_map(day).max();
    for path in runs_of(page) {
        let summary = run(path);
        let age = newest.zip(day(path)).map_or(0, |(newest, own)| (newest - own).get_days());
        if age > DAYS_APART {
            found.push(format!("{path}: {age} days older than the newest run of its page; make it again (arena run)"));
        }
        let ours = summary.contenders.iter().filter(|who| who.name.starts_with("foolsgold") && who.missing.is_empty());
        for who in ours {
            let (release, commit) = who.version.split_once('+').unwrap_or((&who.version, ""));
            if releases.iter().position(|one| one == &release).is_none_or(|back| back > RELEASES_BACK) {
                found.push(format!("{path}: {} is {}; make the run again (arena run)", who.name, who.version));
            } else if commit.is_empty() && summary.started.as_str() > COMMITS_SINCE {
                found.push(format!("{path}: {} does not say its commit: build by bin/arena", who.name));
            }
            let commit = commit.split(',').next().filter(|commit| !commit.is_empty());
            if let Some((commit, since)) = commit.zip(since) {
                let back = since(commit);
                if back.is_none_or(|back| back > COMMITS_BACK) {
                    let back = back.map_or_else(|| "not of this history".to_owned(), |it| format!("{it} commits ago"));
                    found.push(format!("{path}: {} is {back} ({commit}); make the run again (arena run)", who.name));
                }
            }
        }
        if summary.is_quick {
            found.push(format!("{path}: it is a quick run, whose figures are not to be believed"));
        }
        found.extend(
            summary.shortcomings.iter().map(|short| format!("{path}: {short}; make the run again (arena run)")),
        );
    }
    found
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn the_pages_show_no_run_of_a_program_of_long_ago_nor_one_that_is_not_as_the_method_wants_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |name: &str| fs::read_to_string(root.join(name)).expect(name);
    let log = text("CHANGELOG.md");
    let heads = log.lines().filter_map(|line| line.strip_prefix("## ")?.split_whitespace().next());
    let mut releases: Vec<&str> = heads.filter(|head| head.starts_with(|c: char| c.is_ascii_digit())).collect();
    if !releases.contains(&env!("CARGO_PKG_VERSION")) {
        releases.insert(0, env!("CARGO_PKG_VERSION"));
    }
    // Each is asked for several times, and judged anew from its samples.
    let read = |path: &str| shown(&root, &Folder::open(&root.join(path)).expect(path)).expect(path);
    let known: RefCell<BTreeMap<String, Summary>> = RefCell::default();
    let run = |path: &str| known.borrow_mut().entry(path.to_owned()).or_insert_with(|| read(path)).clone();
    let commits = |commit: &str| commits_since(&root, commit);
    let since = has_history(&root).then_some(&commits as Since);
    if since.is_none() {
        eprintln!("skipped: of how many commits ago the runs are, since the whole history is not here");
    }
    let pages = ["README.md", "docs/benchmarks.md", "docs/frameworks.md"].map(text);
    for page in &pages {
        assert_eq!(unfit(page, &releases, since, &run), Vec::<String>::new());
        for path in runs_of(page) {
            let summary = run(path);
            // In prose a run may be linked whose table is not here.
            let link = if page.contains(&format!("](../{path})")) { format!("../{path}") } else { path.to_owned() };
            let has_table = page.contains(&format!("[Run]({link})"));
            let folder = path.rsplit('/').next().unwrap_or(path);
            for name in splice::names_of(page, &summary.study, folder).into_iter().filter(|_| has_table) {
                let shown = ShownRun { summary: &summary, link: &link };
                let is_current = splice::splice(page, &name, shown).is_ok_and(|new| new == *page);
                assert!(is_current, "{name}: arena report {path} --splice");
            }
        }
    }
}

#[test]
fn a_page_that_shows_an_unfit_run_is_found_out() {
    let page = "[Run](arena/runs/x) and [Run](arena/runs/x)";
    let of = |version: &str, started: &str, short: &[&str]| {
        let who = Who { name: "foolsgold-mruby".into(), version: version.into(), ..Who::default() };
        let shortcomings = short.iter().map(|one| (*one).to_owned()).collect();
        let contenders = vec![who];
        let summary = Summary { contenders, started: started.into(), shortcomings, ..Summary::default() };
        unfit(page, &["0.3.0", "0.2.0", "0.1.0"], None, &|_| summary.clone())
    };
    assert!(of("0.2.0+abc", "2027-01-01", &[]).is_empty() && of("0.3.0", "2026-11-21", &[]).is_empty());
    assert!(of("0.1.0+abc", "2027-01-01", &[])[0].contains("make the run again"));
    assert!(of("0.3.0", "2027-01-01", &[])[0].contains("does not say its commit"));
    let short = of("0.3.0+abc", "2027-01-01", &["2 rounds of at least 3", "no twin"]);
    assert_eq!(short[0], "arena/runs/x: 2 rounds of at least 3; make the run again (arena run)");
    assert_eq!(short.len(), 2);

    let both = "[Run](arena/runs/x) and [Run](arena/runs/y)";
    let of_days = |x: &str, y: &str| {
        let run = |path: &str| Summary {
            started: format!("{}T12:00:00Z", if path.ends_with('x') { x } else { y }),
            ..Summary::default()
        };
        unfit(both, &[], None, &run)
    };
    assert!(of_days("2026-11-21", "2026-12-12").is_empty());
    let late = of_days("2026-11-21", "2026-12-13");
    assert_eq!(late, ["arena/runs/x: 22 days older than the newest run of its page; make it again (arena run)"]);
}

#[test]
fn a_page_that_shows_a_run_of_many_commits_ago_is_found_out() {
    let page = "[Run](arena/runs/x)";
    let of = |version: &str, since: Option<Since>| {
        let who = Who { name: "foolsgold".into(), version: version.into(), ..Who::default() };
        let summary = Summary { contenders: vec![who], started: "2027-01-01".into(), ..Summary::default() };
        unfit(page, &["0.1.0"], since, &|_| summary.clone())
    };
    let commits = |commit: &str| match commit {
        "near" => Some(COMMITS_BACK),
        "far" => Some(COMMITS_BACK + 1),
        _ => None,
    };
    assert!(of("0.1.0+near, server: jemalloc", Some(&commits)).is_empty());
    let far = of("0.1.0+far, server: jemalloc", Some(&commits));
    assert!(far.len() == 1 && far[0].contains("foolsgold is 301 commits ago (far); make the run again"), "{far:?}");
    assert!(of("0.1.0+other", Some(&commits))[0].contains("not of this history (other)"));
    assert!(of("0.1.0+far", None).is_empty(), "without a history nothing is known");
}

#[test]
fn commits_are_counted_where_the_whole_history_is_here() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    assert!(!has_history(here));
    let made = |words: &[&str]| {
        let name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        git(here, &[&name[..], words].concat()).expect("git works")
    };
    made(&["init", "--quiet"]);
    for words in ["one", "two", "three"] {
        made(&["commit", "--quiet", "--allow-empty", "--message", words]);
    }
    let first = made(&["rev-parse", "HEAD~2"]);
    assert!(has_history(here));
    assert_eq!((commits_since(here, &first), commits_since(here, "HEAD")), (Some(2), Some(0)));
    assert_eq!(commits_since(here, "0123456789ab"), None);
    let shallow = here.join("shallow");
    let url = format!("file://{}", here.display());
    made(&["clone", "--quiet", "--depth", "1", &url, &shallow.display().to_string()]);
    assert!(!has_history(&shallow));
}
