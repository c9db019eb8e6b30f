//! What every test from outside needs: the built program running on a free port in a folder of its own, and a client
//! that sends exactly the bytes it is told. Nothing here knows how the program works inside.

pub mod client;
pub mod postgres;
pub mod reload;
pub mod ruby;
pub mod server;
pub mod successor;

pub use client::{Client, Reply};
pub use server::{Folder, Server};

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for anything in a test: after it, that counts as hanging. Generous, since the machine may be busy.
pub const MAX_WAIT: Duration = Duration::from_secs(45);

/// Settings that serve the application beside them twice: as `shop`, and as `home`.
pub const SHOP_AND_HOME: &str =
    "[[app]]\nname = \"shop\"\npath = \".\"\nprefix = \"/shop\"\n[[app]]\nname = \"home\"\npath = \".\"\n";

/// Rests between two looks, at least and at most.
const LOOKS_APART: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(25));

/// Waits until `done` says yes, looking every few milliseconds; says no when it did not within `limit`. A look that is
/// work itself, such as a command that is run, is followed by as long a rest: what is waited for needs the processor.
pub fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        let began = Instant::now();
        if done() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::park_timeout(began.elapsed().clamp(LOOKS_APART.0, LOOKS_APART.1));
    }
}

/// The answers to this number of clients that ask at the same time, each on a connection of its own.
pub fn at_once<T: Send>(server: &Server, clients: usize, ask: impl Fn(&mut Client) -> Vec<T> + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(|| ask(&mut server.client()))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// Whether this machine lets us start programs by this command in this folder; prints it when it does not.
pub fn is_permitted(by: &[&str], folder: impl AsRef<Path>) -> bool {
    let tried = Command::new(by[0]).args(&by[1..]).arg("true").current_dir(folder).output();
    let is_permitted = tried.is_ok_and(|ended| ended.status.success());
    if !is_permitted {
        eprintln!("skipped: this is not permitted here: {}", by.join(" "));
    }
    is_permitted
}

/// Whether this machine lets us mount something in a namespace of its own; prints it when it does not.
pub fn can_mount() -> bool {
    is_permitted(&["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /var/cache"], "/")
}

/// A random number generator with the same numbers in every run (xorshift64*).
pub struct Rng(u64);

impl Rng {
    /// A fixed start.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.max(1))
    }

    /// The next number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end.max(1)
    }
}

/// A `config.ru` that answers `body` after the Ruby statements `before`.
pub fn app(before: &str, body: &str) -> String {
    format!("{before}\nrun lambda {{ |env|\n  [200, {{ \"content-type\" => \"text/plain\" }}, [({body}).to_s]]\n}}\n")
}

/// A `config.ru` with one case per path; each case is Ruby that ends in a Rack response. `text(x)` makes a plain one.
pub fn paths(cases: &[(&str, &str)]) -> String {
    let mut ru = String::from(
        "def text(words, status = 200)\n  [status, { \"content-type\" => \"text/plain\" }, [words.to_s]]\nend\n\
         run lambda { |env|\n  case env[\"PATH_INFO\"]\n",
    );
    for (path, ruby) in cases {
        ru.push_str(&format!("  when {path:?}\n    {ruby}\n"));
    }
    ru.push_str("  else text(\"no case for #{env[\"PATH_INFO\"]}\", 404)\n  end\n}\n");
    ru
}

/// The same for paths with the numbers of the cases: `/0`, `/1` and so on.
pub fn numbered(cases: impl Iterator<Item = String>) -> String {
    let cases: Vec<(String, String)> = cases.enumerate().map(|(number, ruby)| (format!("/{number}"), ruby)).collect();
    paths(&cases.iter().map(|(path, ruby)| (path.as_str(), ruby.as_str())).collect::<Vec<_>>())
}
