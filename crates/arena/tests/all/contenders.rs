//! Contenders: recipes are parsed and checked; installed contenders start, answer, are counted correctly, and leave
//! nothing behind; bad servers are detected with a helpful message.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use arena::contender::{Allocator, Catalogue, Presence, Question, Recipe, Server, Wanted, detect};
use arena::environment::{Environment, EnvironmentOptions};
use arena::study::{ServiceName, Studies};
use loadgen::process::until;
use tempfile::TempDir;

use super::{foolsgold, recipe};

const NAMES: [&str; 26] = [
    "agoo",
    "falcon",
    "foolsgold",
    "foolsgold-default",
    "foolsgold-glibc",
    "foolsgold-jruby",
    "foolsgold-mruby",
    "foolsgold-mruby-gems",
    "foolsgold-plain",
    "iodine",
    "itsi",
    "mongrel",
    "nginx-singles",
    "passenger",
    "passenger-apache",
    "passenger-nginx",
    "pitchfork",
    "pitchfork-nginx",
    "puma",
    "puma-jruby",
    "puma-phased",
    "thin",
    "thin-cluster",
    "thin-threaded",
    "unicorn",
    "unicorn-nginx",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn recipes() -> Catalogue {
    Catalogue::read(&here("../../arena/contenders")).expect("the recipes of the house are right")
}

/// Servers that ignore a setting, exit at once, never answer, do not end, or leave files or a process behind.
fn bad() -> Catalogue {
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str| here("tests/bad").join(name).display().to_string();
    let (answers, dies, silent) = (script("answers.rb"), script("dies.rb"), script("silent.rb"));
    let servers: [(&str, &[&str], &str); 7] = [
        ("alone", &[&answers, "{{ port }}", "-w", "{{ workers }}"], "worker = 'answers\\.rb'"),
        ("dies", &[&dies], "worker = 'dies\\.rb'"),
        ("litters", &[&answers, "{{ port }}", "litters"], "worker = 'answers\\.rb .* litters'"),
        ("mother", &[&answers, "{{ port }}", "mother"], "worker = 'answers\\.rb .* mother'"),
        ("silent", &[&silent], "worker = 'silent\\.rb'"),
        ("stubborn", &[&answers, "{{ port }}", "stubborn"], "worker = 'answers\\.rb'"),
        ("threadless", &[&answers, "{{ port }}"], "worker = 'answers\\.rb'\nthread = '^serving'"),
    ];
    for (name, words, count) in servers {
        let tables = "[stop]\npatience_s = 1\n[cannot]\nreload = \"it is bad\"\n[count]\nwithin_s = 1\n";
        let text = recipe(name, 2, words, &format!("{tables}{count}\n"));
        fs::write(folder.path().join(format!("{name}.toml")), text).expect("written");
    }
    Catalogue::read(folder.path()).expect("the recipes of bad servers are right")
}

fn system() -> Environment {
    Environment::open(&EnvironmentOptions { foolsgold: foolsgold(), ..EnvironmentOptions::default() })
        .expect("the system is an environment")
}

/// Recipes, with one application for their servers and a folder for the logs.
struct Ground {
    all: Catalogue,
    environment: Environment,
    rackup: PathBuf,
    logs: TempDir,
}

impl Ground {
    fn of(all: Catalogue) -> Ground {
        let (rackup, logs) = (here("tests/hello/config.ru"), tempfile::tempdir().expect("a folder"));
        Ground { all, environment: system(), rackup, logs }
    }

    fn wanted(&self, name: &str) -> Wanted<'_> {
        let recipe = self.all.get(name).expect("a recipe");
        Wanted {
            recipe,
            environment: &self.environment,
            rackup: &self.rackup,
            workers: 2,
            threads: 2,
            env: BTreeMap::new(),
            logs: self.logs.path(),
            label: recipe.name.clone(),
            memory_limit: None,
            allocator: None,
            idle_s: None,
            stock: false,
        }
    }

    fn started(&self, name: &str) -> Server {
        Server::start(self.wanted(name)).expect(name)
    }

    /// A server that answers.
    fn ready(&self, name: &str) -> Server {
        let mut server = self.started(name);
        server.wait_ready(&hello, &never).expect(name);
        server
    }
}

/// For a wait that only its time limit ends early.
fn never() -> bool {
    false
}

fn hello(port: u16) -> Result<(), String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| format!("connect: {error}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(|error| error.to_string())?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").map_err(|e| e.to_string())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let is_right = answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello\n");
    if is_right { Ok(()) } else { Err(answer) }
}

#[test]
fn all_recipes_of_the_house_are_right() {
    let catalogue = recipes();
    let names: Vec<&str> = catalogue.all().iter().map(|recipe| recipe.name.as_str()).collect();
    assert_eq!(names, NAMES);
    assert!(catalogue.get("puma").is_some() && catalogue.get("pumas").is_none());
}

#[test]
fn a_ring_gets_every_server_that_is_a_gem_and_no_package() {
    let script = fs::read_to_string(here("../../bin/ring")).expect("the script");
    let line = script.lines().find_map(|line| line.trim().strip_prefix("for gem in ")).expect("its gems");
    let gems: Vec<&str> = line.trim_end_matches("; do").split_whitespace().collect();
    let catalogue = recipes();
    for recipe in catalogue.all().iter().filter(|recipe| recipe.get.apt.is_empty()) {
        for gem in &recipe.get.gem {
            assert!(gems.contains(&gem.as_str()), "{}: bin/ring gets {gems:?}, and not {gem}", recipe.name);
        }
    }
}

#[test]
fn mistakes_of_all_files_are_told_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = fs::read_to_string(here("../../arena/contenders/puma.toml")).expect("a recipe");
    let write = |name: &str, from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        fs::write(folder.path().join(name), good.replacen(from, to, 1)).expect("written");
    };
    write("unknown-key.toml", "home = ", "house = ");
    write("bad-pattern.toml", "thread = '^puma srv tp \\d'", "thread = '^puma (srv'");
    write("bad-variable.toml", "{{ port }}", "{{ prot }}");
    write("bad-signal.toml", "signal = \"USR2\"", "signal = \"USR3\"");
    write("no-program.toml", "programs = [\"ruby\", \"puma\"]", "programs = []");
    write("no-group.toml", "'version:? (\\S+)'", "'version'");
    write("no-such-limit.toml", "idle = ", "sleep = ");
    let errors = Catalogue::read(folder.path()).expect_err("seven recipes are wrong").join("\n");
    for (file, words) in [
        ("unknown-key.toml", "unknown field `house`"),
        ("bad-pattern.toml", "count.thread: the pattern `^puma (srv`"),
        ("bad-variable.toml", "{{ prot }}"),
        ("bad-signal.toml", "USR3 is no signal here; there are TERM"),
        ("no-program.toml", "needs.programs is empty"),
        ("no-group.toml", "version.pattern has 0 groups: give it one"),
        ("no-such-limit.toml", "cannot.sleep is unknown: it may say"),
    ] {
        let is_named = errors.split(".toml: ").count() > 7 && errors.contains(file) && errors.contains(words);
        assert!(is_named, "{file} should be told with `{words}`:\n{errors}");
    }
    let empty = tempfile::tempdir().expect("a folder");
    assert!(Catalogue::read(empty.path()).expect_err("no recipe")[0].contains("there is no recipe"));
}

#[test]
fn what_is_missing_is_said_with_how_to_get_it() {
    let catalogue = recipes();
    let mut recipe = catalogue.get("puma").expect("a recipe").clone();
    recipe.needs.programs.push("no-such-server".into());
    let Presence::Missing { lacks, get } = detect(&recipe, &system()) else { panic!("nobody has no-such-server") };
    assert!(lacks.iter().any(|one| one == "the program no-such-server"), "{lacks:?}");
    assert!(get.iter().any(|one| one == "gem install puma"), "{get:?}");
    recipe.needs.programs = vec!["ruby".into()];
    recipe.needs.libraries = vec!["json".into(), "no_such_library".into()];
    let Presence::Missing { lacks, .. } = detect(&recipe, &system()) else { panic!("nobody has no_such_library") };
    assert_eq!(lacks, ["the library no_such_library"]);
}

#[test]
fn an_allocator_that_is_built_in_stands_after_the_version() {
    let catalogue = recipes();
    let mut recipe = catalogue.get("puma").expect("a recipe").clone();
    let version = |recipe: &Recipe| match detect(recipe, &system()) {
        Presence::Here { version, .. } => version,
        Presence::Missing { lacks, .. } => panic!("bin/setup --arena brings Puma: {lacks:?}"),
    };
    let plain = version(&recipe);
    let said = |words: &str, of: &str| Question {
        command: vec!["echo".into(), words.into()],
        pattern: "(jemalloc)".into(),
        of: of.into(),
    };
    recipe.allocator = Some(said("0.1.0 (mruby, jemalloc)", "server:"));
    assert_eq!(version(&recipe), format!("{plain}, server: jemalloc"));
    recipe.allocator = Some(said("0.1.0 (mruby)", ""));
    assert_eq!(version(&recipe), plain);
    let ours = catalogue.all().iter().filter(|recipe| recipe.name.starts_with("foolsgold"));
    assert!(ours.clone().count() >= 5 && ours.clone().all(|recipe| recipe.allocator.is_some()));
}

#[test]
fn studies_that_compare_rates_have_rivals_with_the_allocator_of_foolsgold() {
    let (studies, complaints) = Studies::read(&here("../../arena/studies"));
    assert!(complaints.is_empty(), "{complaints:?}");
    for study in &studies.0 {
        for entry in study.contenders.iter().filter(|entry| entry.allocator.is_some_and(|who| who != Allocator::Glibc))
        {
            let allocator = entry.allocator.map(Allocator::name).unwrap_or_default();
            assert!(entry.name().ends_with(allocator), "{}: {} is not named after it", study.name, entry.name());
        }
        let rivals = study
            .contenders
            .iter()
            .filter(|entry| entry.allocator == Some(Allocator::Jemalloc) && !entry.recipe.starts_with("foolsgold"));
        // One study compares what is left when something breaks, not rates; in another FoolsGold takes no part.
        let has_ours = study.contenders.iter().any(|entry| entry.recipe.starts_with("foolsgold"));
        assert!(study.name == "scenarios" || !has_ours || rivals.count() >= 2, "{} has no two", study.name);
    }
}

#[test]
fn what_waits_is_served_by_as_many_processes_as_threads() {
    let (studies, _) = Studies::read(&here("../../arena/studies"));
    let study = studies.get("app-server-arena").expect("a study");
    let most = |begin: &str| {
        let own = study.contenders.iter().filter(|entry| entry.recipe.starts_with(begin));
        own.map(|entry| entry.workers * entry.threads).max()
    };
    assert_eq!((most("puma"), most("unicorn"), most("passenger")), (Some(32), Some(32), Some(32)));
}

#[test]
fn who_runs_fibres_has_a_connection_for_each() {
    let (studies, _) = Studies::read(&here("../../arena/studies"));
    for study in studies.0.iter().filter(|study| study.services.contains(&ServiceName::Postgresql)) {
        let users = study.cases.iter().flat_map(|case| &case.users).max().copied().unwrap_or(1);
        for entry in study.contenders.iter().filter(|entry| entry.recipe == "falcon") {
            assert!(entry.workers * entry.threads >= users, "{}: {} users", study.name, users);
        }
    }
}

#[test]
fn servers_that_want_a_proxy_have_one_where_clients_are_slow() {
    let (studies, _) = Studies::read(&here("../../arena/studies"));
    let names: Vec<&str> =
        studies.get("scenarios").expect("a study").contenders.iter().map(|entry| entry.recipe.as_str()).collect();
    assert!(!names.contains(&"unicorn") && !names.contains(&"pitchfork"), "{names:?}");
    for name in ["unicorn-nginx", "pitchfork-nginx", "puma", "puma-phased"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn no_connection_ends_for_the_number_of_its_requests_unless_stock() {
    let ground = Ground::of(recipes());
    let server = ground.ready("puma");
    let commands = server.commands().join("\n");
    assert!(commands.contains("max_keep_alive Float::INFINITY") && commands.contains("/puma.rb"), "{commands}");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let mut buffer = [0; 4096];
    for number in 1..=1200 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"hello\n") {
            let count = stream.read(&mut buffer).expect("an answer");
            assert!(count > 0, "the connection was closed at request {number}");
            answer.extend_from_slice(&buffer[..count]);
        }
    }
    drop(server);
    let stock = Wanted { stock: true, ..ground.wanted("puma") };
    let server = Server::start(stock).expect("started");
    let commands = server.commands().join("\n");
    assert!(commands.contains(" -C - ") && !commands.contains("backlog"), "{commands}");
}

#[test]
fn who_chooses_the_number_of_its_threads_is_not_told_one() {
    let ground = Ground::of(recipes());
    let is_told = |name: &str| {
        let server = ground.ready(name);
        server.commands().join("\n").contains("RAILS_MAX_THREADS")
    };
    assert!(is_told("foolsgold") && !is_told("foolsgold-default"));
}

#[test]
fn reloads_replace_all_workers_behind_a_proxy_and_one_after_the_other() {
    let ground = Ground::of(recipes());
    let mut tried = Vec::new();
    for name in ["unicorn-nginx", "puma-phased"] {
        let Presence::Here { .. } = detect(ground.all.get(name).expect(name), &ground.environment) else { continue };
        let mut server = ground.ready(name);
        server.reload().expect(name);
        hello(server.port()).expect(name);
        assert!(!server.has_ended(), "{name}");
        tried.push(name);
    }
    assert!(tried.contains(&"puma-phased"), "bin/setup --arena brings Puma; there were {tried:?}");
}

#[test]
fn those_that_are_here_answer_are_counted_and_leave_nothing() {
    let ground = Ground::of(recipes());
    let mut tried = Vec::new();
    for recipe in ground.all.all() {
        let Presence::Here { version, ruby } = detect(recipe, &ground.environment) else { continue };
        assert!(version.contains('.') && !ruby.is_empty(), "{}: {version} on {ruby}", recipe.name);
        let name = &recipe.name;
        let mut server = ground.ready(name);
        // Some servers start their threads only after some requests.
        (0..20).for_each(|_| hello(server.port()).expect(name));
        let counts = server.check_counts().expect(name);
        let (workers, threads) = server.shape();
        assert_eq!((counts.workers, counts.threads), (workers, workers * threads), "{name}");
        // Our own process may use any allocator; its workers run the same Ruby as all others.
        for worker in server.members().iter().filter(|one| one.title.starts_with("foolsgold: worker")) {
            let program = fs::read_link(format!("/proc/{}/exe", worker.id)).expect(name);
            let maps = fs::read_to_string(format!("/proc/{}/maps", worker.id)).expect(name);
            assert!(program.display().to_string().contains("ruby") && !maps.contains("jemalloc"), "{program:?}");
        }
        let sampled = server.sampler().stop();
        assert!(sampled.pss_peak_kib > 1000 && server.usage().cpu_us > 0, "{name}: {sampled:?}");
        assert!(!server.has_ended() && !server.commands().is_empty(), "{name}");
        server.stop().expect(name);
        tried.push(name.clone());
    }
    assert!(tried.iter().any(|name| name == "puma"), "bin/setup --arena brings Puma; there were {tried:?}");
}

#[test]
fn a_killed_worker_is_replaced_and_a_reload_renews_all() {
    let ground = Ground::of(recipes());
    let mut server = ground.ready("puma");
    let killed = server.kill_worker().expect("killed");
    assert!(until(Duration::from_secs(10), || server.members().iter().all(|one| one.id != killed)));
    server.check_counts().expect("replaced");
    server.reload().expect("reloaded");
    assert!(until(Duration::from_secs(20), || hello(server.port()).is_ok()));
    // Puma may hang when it is stopped so soon after its workers have started; this test is not about that.
    drop(server);
    let mut server = ground.started("thin");
    let error = server.kill_worker().expect_err("it is alone");
    assert!(error.contains("its death is the server's"), "{error}");
    assert!(server.reload().expect_err("it cannot").contains("starts another"));
}

#[test]
fn who_never_gets_ready_is_told_with_the_log() {
    let ground = Ground::of(bad());
    let mut server = ground.started("silent");
    let error = server.wait_ready(&hello, &never).expect_err("it never answers");
    assert!(error.contains("silent gave no right answer within 2 s: connect"), "{error}");
    assert!(error.contains("waiting for a database"), "{error}");
    server.stop().expect("it ends when told to");
}

#[test]
fn who_dies_is_told_at_once_with_the_log() {
    let ground = Ground::of(bad());
    let mut server = ground.started("dies");
    let error = server.wait_ready(&hello, &never).expect_err("it dies");
    assert!(error.contains("dies ended before it answered") && error.contains("exit status: 3"), "{error}");
    assert!(error.contains("no such database") && server.has_ended(), "{error}");
}

#[test]
fn another_program_on_the_port_of_a_dead_server_is_not_taken_for_it() {
    let ground = Ground::of(bad());
    let mut server = ground.started("dies");
    assert!(until(Duration::from_secs(20), || server.has_ended()), "it ends by itself");
    let error = server.wait_ready(&|_| Ok(()), &never).expect_err("it is dead, whoever answers");
    assert!(error.contains("dies ended before it answered") && error.contains("exit status: 3"), "{error}");
    let error = server.check_counts().expect_err("it has no worker");
    assert!(error.contains("dies has no process any more") && error.contains("no such database"), "{error}");
}

#[test]
fn ignored_settings_are_caught() {
    let ground = Ground::of(bad());
    let server = ground.ready("alone");
    let error = server.check_counts().expect_err("it has one worker");
    assert!(error.contains("was told to have 2 workers and has 1: it ignores the setting"), "{error}");
    server.stop().expect("it ends");
    let one = Wanted { workers: 1, ..ground.wanted("threadless") };
    let mut server = Server::start(one).expect("it starts");
    server.wait_ready(&hello, &never).expect("it answers");
    let error = server.check_counts().expect_err("it has no thread of that name");
    assert!(error.contains("was told to have 1 x 2 threads and has 0 in all"), "{error}");
}

#[test]
fn who_does_not_end_is_killed_and_who_leaves_children_is_told() {
    let ground = Ground::of(bad());
    let error = ground.ready("stubborn").stop().expect_err("it does not end");
    assert!(error.contains("did not end within 1 s of SIGTERM and was killed"), "{error}");
    let error = ground.ready("mother").stop().expect_err("it leaves a child");
    assert!(error.contains("behind") && error.contains("killed"), "{error}");
}

#[test]
fn the_temporary_files_of_a_server_end_with_it_and_no_others() {
    let ground = Ground::of(bad());
    let others = PathBuf::from(format!("/tmp/facil_io_tmpfile_{}-of-another", std::process::id()));
    let open = fs::File::create(&others).expect("/tmp can be written to");
    let server = ground.ready("litters");
    let log = server.log_tail();
    let folder = log.lines().find_map(|line| line.strip_prefix("temporary: ")).map(PathBuf::from).expect("its folder");
    let own = PathBuf::from(format!("/tmp/facil_io_tmpfile_{}", server.port()));
    assert!(folder != Path::new("/tmp") && folder.join("upload").is_file() && own.is_file(), "{}", folder.display());
    server.stop().expect("it ends");
    let is_kept = others.is_file();
    drop(open);
    let _ = fs::remove_file(&others);
    assert!(is_kept && !own.exists() && !folder.exists(), "{}: {}", own.exists(), folder.exists());
}

#[test]
fn what_cannot_be_done_is_refused_in_words() {
    let ground = Ground::of(recipes());
    let nowhere = Wanted { rackup: &here("tests/hello/nowhere.ru"), ..ground.wanted("puma") };
    let error = Server::start(nowhere).expect_err("no such file");
    assert!(error.starts_with("puma: there is no ") && error.contains("nowhere.ru"), "{error}");
    let both =
        EnvironmentOptions { ring: Some("/".into()), gemfile: Some("Gemfile".into()), ..EnvironmentOptions::default() };
    assert!(Environment::open(&both).expect_err("one of them").contains("exclude each other"));
}
