//! A clock that is set forward, and back again.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{MAX_WAIT, Server, app, server, within};

/// Adds what a file says to the time of day, for the process that it is loaded into.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME && result == 0) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
    if (file >= 0) close(file);
  }
  return result;
}
"#;

/// A clock for servers under test, which can be set while they run.
pub struct Clock {
    library: String,
    offset: String,
}

impl Clock {
    /// A clock that is right, with its files in this folder; none on a machine without a C compiler.
    pub fn in_folder(folder: &Path) -> Option<Clock> {
        fs::write(folder.join("clock.c"), CLOCK).unwrap();
        let compile = ["-shared", "-fPIC", "-o", "clock.so", "clock.c"];
        let compiled = Command::new("cc").args(compile).current_dir(folder).status();
        if !compiled.is_ok_and(|status| status.success()) {
            eprintln!("skipped: there is no C compiler here");
            return None;
        }
        let [library, offset] = ["clock.so", "offset"].map(|name| folder.join(name).display().to_string());
        let clock = Clock { library, offset };
        clock.set(0);
        Some(clock)
    }

    /// Sets it this number of seconds ahead.
    pub fn set(&self, seconds: i64) {
        fs::write(&self.offset, seconds.to_string()).unwrap();
    }

    /// Variables with which a server has this clock.
    pub fn environment(&self) -> [(&str, &str); 2] {
        [("LD_PRELOAD", self.library.as_str()), ("CLOCK_OFFSET", self.offset.as_str())]
    }
}

#[test]
fn the_date_follows_it_and_the_uptime_does_not() {
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    let Some(clock) = Clock::in_folder(&folder) else { return };
    let server = Server::spawn(folder.clone(), &clock.environment(), &["-b", "tcp://127.0.0.1:0", "-t", "1"]);
    let date = |request: &str| server.client().ask(request).header("date").unwrap().to_owned();
    let year = |date: &str| date.split(' ').nth(3).unwrap().parse::<u32>().unwrap();
    for request in ["GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\n\n"] {
        let now = year(&date(request));
        clock.set(366 * 86_400 * 2);
        assert!(within(MAX_WAIT, || year(&date(request)) >= now + 2), "{}", date(request));
        let status = server.status();
        assert!(status["server"]["uptime_s"].as_f64().is_some_and(|up| up < 86_400.0), "{status}");
        clock.set(0);
        assert!(within(MAX_WAIT, || year(&date(request)) == now), "{} stays in the future", date(request));
    }
}
