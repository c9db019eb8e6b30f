//! Applications that get new code while they serve, and clients that look at every answer meanwhile.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::{Server, paths, ruby, server};

/// The engines, as the tests name them.
pub const ENGINES: [&str; 2] = ["mruby", "ruby"];

/// Rest of a client after an answer, under a light load: eight of them ask some hundred times a second.
const REST: Duration = Duration::from_millis(20);

/// A rackup file of this version of the code: `/` tells it, `/stream` tells it again and again until there is a file
/// `end`, `/hold` answers when there is a file `go`. `before` is Ruby that runs while it is loaded.
pub fn code(version: u32, before: &str) -> String {
    let stream = format!(
        "[200, {{}}, lambda {{ |s| s.write(\"v{version};\"); \
         until File.exist?(\"#{{HERE}}/end\"); s.write(\"v{version};\"); sleep 0.01; end; s.close }}]"
    );
    let hold = format!("sleep 0.01 until File.exist?(\"#{{HERE}}/go\"); text(\"held by v{version}\")");
    let version_of = format!("text(\"v{version}\")");
    let slow = format!("sleep 0.003; text(\"v{version}\")");
    let cases = [
        ("/", version_of.as_str()),
        ("/slow", slow.as_str()),
        ("/up", "text(\"up\", File.exist?(\"#{HERE}/ill\") ? 500 : 200)"),
        ("/stream", stream.as_str()),
        ("/hold", hold.as_str()),
    ];
    format!("HERE = __dir__\n{before}\n{}", paths(&cases))
}

/// Puts a file in its place whole: nobody ever reads half of it.
pub fn put(folder: &Path, name: &str, text: &str) {
    let draft = folder.join(format!("{name}.new"));
    fs::write(&draft, text).unwrap();
    fs::rename(draft, folder.join(name)).unwrap();
}

/// Serves version 1 on this engine.
pub fn serve(engine: &str, options: &[&str]) -> Server {
    let folder = server::folder();
    put(&folder, "config.ru", &code(1, ""));
    let own = ["-b", "tcp://127.0.0.1:0", "--engine", engine, "--ruby", &ruby::program(), "--access-log", "off"];
    Server::spawn(folder, &[], &[&own[..], options].concat())
}

/// Deploys this version, which must come to serve.
#[track_caller]
pub fn deploy(server: &Server, version: u32, generation: u32) {
    put(&server.folder, "config.ru", &code(version, ""));
    server.reload(&format!("generation {generation} serves"));
}

/// What clients have seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub answers: usize,
    /// Statuses other than 200, and versions that were older than they might be.
    pub wrong: Vec<String>,
}

/// Clients that ask, each on its own connection, until the work is done. Each answer must be of a version that is at
/// least the one that was known to serve when it was asked for.
pub fn under_load(server: &Server, clients: usize, work: impl FnOnce(&AtomicU32)) -> Seen {
    asked_by(server, clients, Duration::ZERO, work)
}

/// The same from clients who rest after each answer: for work that takes seconds, in which clients without a rest
/// would only take the processors from all else.
pub fn under_light_load(server: &Server, clients: usize, work: impl FnOnce(&AtomicU32)) -> Seen {
    asked_by(server, clients, REST, work)
}

fn asked_by(server: &Server, clients: usize, rest: Duration, work: impl FnOnce(&AtomicU32)) -> Seen {
    let (is_over, known) = (AtomicBool::new(false), AtomicU32::new(1));
    let mut seen = Seen::default();
    thread::scope(|scope| {
        let (is_over, known) = (&is_over, &known);
        let clients: Vec<_> = (0..clients).map(|n| scope.spawn(move || ask(server, n, rest, is_over, known))).collect();
        // Clients end, too, when the work fails.
        let end = Over(is_over);
        work(known);
        drop(end);
        for client in clients {
            let one = client.join().unwrap();
            seen.answers += one.answers;
            seen.wrong.extend(one.wrong);
        }
    });
    seen
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// One client: by turns the quick and the slow answer, and a POST, which nobody may run twice.
fn ask(server: &Server, number: usize, rest: Duration, is_over: &AtomicBool, known: &AtomicU32) -> Seen {
    let (mut client, mut seen) = (server.client(), Seen::default());
    while !is_over.load(Ordering::SeqCst) {
        let least = known.load(Ordering::SeqCst);
        let reply = match (seen.answers + number) % 3 {
            0 => client.get("/"),
            1 => client.get("/slow"),
            _ => client.post("/", "x"),
        };
        let text = reply.text();
        let version: u32 = text.strip_prefix('v').and_then(|version| version.parse().ok()).unwrap_or(0);
        if reply.status != 200 || version < least {
            seen.wrong.push(format!("{} {text:?} when {least} served", reply.status));
        }
        seen.answers += 1;
        if !rest.is_zero() {
            thread::park_timeout(rest);
        }
    }
    seen
}
