//! A clock that is set forward, and back again.

use std::fs;
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

#[test]
fn the_date_follows_it_and_the_uptime_does_not() {
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'")), ("clock.c", CLOCK)]);
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]).current_dir(&folder).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no C compiler here");
        return;
    }
    let (library, offset) = (folder.join("clock.so"), folder.join("offset"));
    fs::write(&offset, "0").unwrap();
    let env = [("LD_PRELOAD", library.to_str().unwrap()), ("CLOCK_OFFSET", offset.to_str().unwrap())];
    let server = Server::spawn(folder.clone(), &env, &["-b", "tcp://127.0.0.1:0", "-t", "1"]);
    let date = |request: &str| {
        let mut client = server.client();
        client.send(request).unwrap();
        client.reply().unwrap().header("date").unwrap().to_owned()
    };
    let year = |date: &str| date.split(' ').nth(3).unwrap().parse::<u32>().unwrap();
    for request in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"] {
        let now = year(&date(request));
        fs::write(&offset, (366 * 86_400 * 2).to_string()).unwrap();
        assert!(within(MAX_WAIT, || year(&date(request)) >= now + 2), "{}", date(request));
        let status = server.status();
        assert!(status["server"]["uptime_s"].as_f64().is_some_and(|up| up < 86_400.0), "{status}");
        fs::write(&offset, "0").unwrap();
        assert!(within(MAX_WAIT, || year(&date(request)) == now), "{} stays in the future", date(request));
    }
}
