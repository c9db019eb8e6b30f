//! Where the application is loaded: once, before workers are forked, or in each worker; and that workers never share a
//! connection by mistake.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{MAX_WAIT, Server, ruby, server, within};
use rustix::process::Signal;

/// A server that answers each line with the same line, a moment later; it ends with the test's process.
struct Echo {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Echo {
    fn start() -> Echo {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, connections) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let count = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || echo(stream.unwrap()));
            }
        });
        Echo { port, connections }
    }

    /// A `config.ru` that connects here while it is loaded, and answers what this says to the query.
    fn app(&self, before: &str) -> String {
        format!(
            "require_relative \"common\"\nrequire \"socket\"\nnote(\"loads\")\nclass Client\n  attr_accessor :socket\n\
             end\nCLIENT = Client.new\nCLIENT.socket = TCPSocket.new(\"127.0.0.1\", {})\n{before}\n\
             run paths(\"/\" => ->(env) {{ CLIENT.socket.puts(env[\"QUERY_STRING\"]); text(CLIENT.socket.gets.chomp) \
             }},\n  \"/pid\" => ->(_) {{ text(Process.pid) }})\n",
            self.port
        )
    }
}

fn echo(stream: TcpStream) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        thread::park_timeout(Duration::from_millis(1));
        if writer.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// How many of the answers to unique questions, asked by eight clients at once, are another question's.
fn wrong_answers(server: &Server) -> usize {
    let ask = |client: usize| {
        let mut connection = server.client();
        let mut wrong = 0;
        for number in 0..40 {
            let token = format!("token-{client}-{number}");
            let reply = ruby::expect(server, connection.get(&format!("/?{token}")), 200);
            wrong += usize::from(reply.text() != token);
        }
        wrong
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|client| scope.spawn(move || ask(client))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

#[track_caller]
fn wait_for_workers(server: &Server, count: usize) {
    let all = || server.get("/pid").status == 200 && ruby::workers(server).len() == count;
    assert!(within(MAX_WAIT, all), "{}", server.log());
}

#[test]
fn with_unicorns_default_each_worker_has_a_connection_of_its_own() {
    let echo = Echo::start();
    let unicorn = "worker_processes 2\nafter_fork { |_, worker| File.write(\"notes\", \"forked\\n\", mode: \"a\") }\n";
    let files = [("config.ru", &*echo.app("")), ("config/unicorn.rb", unicorn)];
    let server = ruby::serve_files(&files, &[], &["-C", "config/unicorn.rb"]);
    assert!(within(MAX_WAIT, || ruby::count(&server, "loads") == 2), "{}", server.log());
    wait_for_workers(&server, 2);
    assert_eq!(wrong_answers(&server), 0, "{}", server.log());
    assert_eq!(echo.connections.load(Ordering::SeqCst), 2);
    let notes = ruby::notes(&server);
    assert_eq!(notes[0], "forked", "the hook runs before the application is loaded: {notes:?}");
    assert_eq!(notes.len(), 4, "{notes:?}");
}

#[test]
fn a_preloaded_application_that_holds_a_connection_is_not_forked() {
    let echo = Echo::start();
    let server = ruby::serve(&echo.app(""), &["-w", "2", "-t", "1"]);
    wait_for_workers(&server, 2);
    assert_eq!(wrong_answers(&server), 0, "{}", server.log());
    let log = server.log();
    assert!(log.contains("each worker loads it itself"), "{log}");
    assert!(log.contains(&format!("to 127.0.0.1:{} (descriptor", echo.port)), "{log}");
    assert!(log.contains("TCPSocket, held by Client, the constant CLIENT"), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
    // The mold that was thrown away, and each worker.
    assert!(within(MAX_WAIT, || ruby::count(&server, "loads") == 3));
}

#[test]
fn a_preloaded_application_is_forked_when_a_hook_has_closed_its_connection_or_when_that_is_forced() {
    let echo = Echo::start();
    let hooks = "before_fork { CLIENT.socket&.close; CLIENT.socket = nil }\n\
                 after_fork { |_| CLIENT.socket = TCPSocket.new(\"127.0.0.1\", ENV[\"ECHO\"].to_i) }\n";
    let files = [("config.ru", &*echo.app("")), ("config/foolsgold.rb", hooks)];
    let port = echo.port.to_string();
    let server = ruby::serve_files(&files, &[("ECHO", &port)], &["-w", "2", "-t", "1"]);
    wait_for_workers(&server, 2);
    assert_eq!((wrong_answers(&server), ruby::count(&server, "loads")), (0, 1), "{}", server.log());
    assert!(!server.log().contains("connections open"), "{}", server.log());

    let server = ruby::serve(&echo.app(""), &["-w", "2", "-t", "1", "--preload=force"]);
    wait_for_workers(&server, 2);
    assert_eq!(ruby::count(&server, "loads"), 1);
    assert!(server.log().contains("workers share connections"), "{}", server.log());
}

/// No variable or constant refers to it: the server can find out only its class.
#[test]
fn a_connection_that_only_a_thread_holds_does_not_end_the_process_that_forks() {
    let echo = Echo::start();
    let held = format!(
        "up = Queue.new\nThread.new {{ held = TCPSocket.new(\"127.0.0.1\", {}); up << 1; sleep; held }}\n",
        echo.port
    );
    let app = format!("require \"socket\"\n{held}up.pop\nrun ->(_) {{ [200, {{}}, [Process.pid.to_s]] }}\n");
    let server = ruby::serve(&app, &["-w", "2", "-t", "1", "--preload=force"]);
    wait_for_workers(&server, 2);
    let log = server.log();
    assert!(log.contains("workers share connections") && !log.contains("FrozenError"), "{log}");
}

/// A connection over which nothing comes any more, such as one that an HTTP client has kept for the next request.
#[test]
fn a_connection_that_its_other_end_has_closed_is_no_reason_not_to_fork() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(b"hello\n");
        }
    });
    let app = format!(
        "require_relative \"common\"\nrequire \"socket\"\nnote(\"loads\")\n\
         KEPT = TCPSocket.new(\"127.0.0.1\", {port})\nKEPT.gets\nKEPT.wait_readable\n\
         run paths(\"/pid\" => ->(_) {{ text(Process.pid) }})\n"
    );
    let server = ruby::serve(&app, &["-w", "2", "-t", "1"]);
    wait_for_workers(&server, 2);
    assert_eq!(ruby::count(&server, "loads"), 1, "{}", server.log());
    assert!(!server.log().contains("each worker loads it"), "{}", server.log());
}

/// Loads with a connection and a port of its own open.
fn with_listener(echo: &Echo) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    echo.app(&format!("METRICS = TCPServer.new(\"127.0.0.1\", {port})\nat_exit {{ sleep 3 }}"))
}

#[test]
fn the_process_that_will_not_fork_has_ended_before_a_worker_loads() {
    let echo = Echo::start();
    // One worker now, more later: it is forked.
    let options = ["--min-workers", "1", "--max-workers", "2", "-t", "1"];
    let server = ruby::serve(&with_listener(&echo), &options);
    wait_for_workers(&server, 1);
    let log = server.log();
    assert!(log.contains("each worker loads it itself") && !log.contains("EADDRINUSE"), "{log}");
}

#[test]
fn where_workers_cannot_load_what_could_be_preloaded_the_reason_is_named() {
    let echo = Echo::start();
    let app = echo.app("File.open(\"lock\", File::CREAT | File::EXCL | File::RDWR)");
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "-w", "2", "-t", "1"];
    let (output, said) = server::run(&ruby::folder(&[("config.ru", &*app)]), &[], &options);
    assert!(!output.status.success() && said.contains("cannot start"), "{said}");
    for words in ["EEXIST", "because they would share a connection from", "--preload=force forks them all the same"] {
        assert!(said.contains(words), "{words:?} is not in: {said}");
    }
}

#[test]
fn what_else_a_fork_breaks_is_named() {
    let before = "CLIENT.socket.close\nBackground = Thread.new { sleep }\nBackground.name = \"scheduler\"\n\
                  Dir.mkdir(\"concurrent-ruby\")\nFile.write(\"concurrent-ruby/pool.rb\", \"POOL = Thread.new { \
                  Queue.new.pop }\")\nrequire \"./concurrent-ruby/pool\"\nPOOL.name = \"pool\"\n\
                  Thread.pass until POOL.stop?\nFoolsGold.before_fork { Thread.new { sleep }.name = \"reporter\" }\n\
                  File.binwrite(\"data.db\", \"SQLite format 3\\0\" + \"x\" * 84)\n\
                  DATABASE = File.open(\"data.db\")\n";
    let echo = Echo::start();
    let server = ruby::serve(&echo.app(before), &["-w", "2", "-t", "1"]);
    wait_for_workers(&server, 2);
    let log = server.log();
    assert!(log.contains("is in no worker: scheduler, "), "{log}");
    // Pools of concurrent-ruby begin anew after a fork by themselves.
    assert!(!log.contains("is in no worker: pool"), "{log}");
    // What a hook starts before the fork is meant for the process that forks.
    assert!(!log.contains("is in no worker: reporter"), "{log}");
    assert!(log.contains("data.db (descriptor") && log.contains("which SQLite forbids"), "{log}");
    assert_eq!(log.matches("SQLite forbids").count(), 1, "{log}");
    assert_eq!(ruby::count(&server, "loads"), 1);
}

#[test]
fn a_single_worker_loads_the_application_itself() {
    let app = "require_relative \"common\"\nLOADED = Process.pid\nTICKS = []\nThread.new { loop { TICKS << 1; sleep \
               0.01 } }\nFoolsGold.after_fork { |number| note(\"after fork #{number}\") }\n\
               run paths(\"/\" => ->(_) { text(LOADED == Process.pid) }, \"/ticks\" => ->(_) { text(TICKS.size) })\n";
    let server = ruby::serve(app, &["-w", "1", "-t", "2"]);
    assert_eq!(server.text("/"), "true", "no fork after loading");
    let ticks = || server.text("/ticks").parse::<usize>().unwrap();
    let before = ticks();
    assert!(within(MAX_WAIT, || ticks() > before), "a thread of the application lives");
    assert_eq!(ruby::notes(&server), ["after fork 1"]);
    let server = ruby::serve(app, &["-w", "1", "-t", "2", "--preload"]);
    assert_eq!(server.text("/"), "false");
}

#[test]
fn without_preloading_a_reload_takes_new_code_and_broken_code_leaves_the_old() {
    let app = |word: &str| format!("require_relative \"common\"\nrun ->(_) {{ text(\"{word}\") }}\n");
    let server = ruby::serve(&app("old"), &["-w", "2", "-t", "1", "--preload=no"]);
    let write = |text: &str| std::fs::write(server.folder.join("config.ru"), text).unwrap();
    write("raise \"broken\"\n");
    server.reload("RuntimeError: broken");
    assert_eq!(server.text("/"), "old");
    // A worker that is started anew loads what is there.
    write(&app("new"));
    server.signal(Signal::USR1);
    assert!(within(MAX_WAIT, || server.text("/") == "new"), "{}", server.log());
}

#[test]
fn an_application_that_does_not_load_in_its_worker_ends_the_start_with_its_error() {
    let folder = ruby::folder(&[("config.ru", "require_relative \"common\"\nraise ArgumentError, \"no key\"\n")]);
    let start = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &ruby::program()];
    for workers in ["1", "3"] {
        let said = server::exits_with(1, &folder, &[], &[&start[..], &["-w", workers, "--preload=no"]].concat());
        assert!(said.contains("ArgumentError: no key") && said.contains("config.ru:2"), "{said}");
    }
}

#[test]
fn a_worker_that_still_loads_does_not_hold_the_end() {
    let app = "require_relative \"common\"\nnote(\"loads\")\nwait_for(\"go\") if File.exist?(\"slow\")\n\
               run ->(_) { text(\"gold\") }\n";
    let mut server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    ruby::let_go(&server, "slow");
    server.signal(Signal::URG);
    assert!(within(MAX_WAIT, || ruby::count(&server, "loads") == 2), "{}", server.log());
    server.end_within(Signal::TERM, Duration::from_secs(10));
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}
