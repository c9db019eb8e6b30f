//! The protocols of systemd: notifications to NOTIFY_SOCKET, the watchdog, and activated sockets. Without systemd
//! nothing happens.

use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::RawFd;
use std::os::unix::process::parent_id;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sd_notify::NotifyState;
use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

use crate::process::numbered::{FIRST, is_open, take};
use crate::process::parent::InheritedSocket;

/// Shortest interval between watchdog notifications.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// What the messages depend on. Locked while one is sent, so that they come in order.
static PROGRESS: Mutex<Progress> = Mutex::new(Progress { running: 0, is_ending: false });

/// Whether another process is the service. systemd takes nothing from this one any more, and logs a warning for each
/// message.
static HAS_MOVED: AtomicBool = AtomicBool::new(false);

struct Progress {
    /// Number of reloads and upgrades that are running.
    running: usize,
    /// The status says that the server drains or shuts down, and no reload that ends meanwhile changes that.
    is_ending: bool,
}

/// Whether systemd takes notifications. An empty variable counts as absent.
fn is_listening() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty())
}

/// Whether systemd ends the service when this process exits: it has started this process as the service
/// (SYSTEMD_EXEC_PID, systemd.exec(5)), and cannot be told that another one takes its place.
pub fn ends_with_this_process() -> bool {
    let main = std::env::var("SYSTEMD_EXEC_PID").unwrap_or_default();
    main == std::process::id().to_string() && !is_listening()
}

fn tell(state: &[NotifyState<'_>]) {
    static HAS_FAILED: AtomicBool = AtomicBool::new(false);
    if HAS_MOVED.load(Ordering::Relaxed) || !is_listening() {
        return;
    }
    match sd_notify::notify(state) {
        Ok(()) => HAS_FAILED.store(false, Ordering::Relaxed),
        Err(error) if !HAS_FAILED.swap(true, Ordering::Relaxed) => {
            warn!(
                target: "server",
                "systemd cannot be told how this service is: {error} (NOTIFY_SOCKET); logged once"
            );
        }
        Err(_) => {}
    }
}

/// Notifies that the server is ready, for the first time or again; only of the status while a reload is running.
pub fn ready(status: &str) {
    tell_progress(&PROGRESS.lock(), status);
}

/// Notifies that a reload or an upgrade has begun; [`reloaded`] must follow, unless the server shuts down.
pub fn reloading(status: &str) {
    let mut progress = PROGRESS.lock();
    progress.running += 1;
    let mut state = vec![NotifyState::Reloading];
    state.extend(NotifyState::monotonic_usec_now());
    state.push(NotifyState::Status(status));
    tell(&state);
}

/// Notifies that a reload or an upgrade has ended. The server is ready when the last one has.
pub fn reloaded(status: &str) {
    let mut progress = PROGRESS.lock();
    progress.running = progress.running.saturating_sub(1);
    tell_progress(&progress, status);
}

fn tell_progress(progress: &Progress, status: &str) {
    // Also of a server that drains: to systemd a reload lasts until this.
    let ready = (progress.running == 0).then_some(NotifyState::Ready);
    let status = (!progress.is_ending).then_some(NotifyState::Status(status));
    let state: Vec<NotifyState<'_>> = ready.into_iter().chain(status).collect();
    if !state.is_empty() {
        tell(&state);
    }
}

/// Notifies that load balancers should send no more requests, before the shutdown begins: of the status only, since a
/// successor may be the service by then.
pub fn draining(status: &str) {
    let mut progress = PROGRESS.lock();
    progress.is_ending = true;
    tell(&[NotifyState::Status(status)]);
}

/// Notifies that the server is shutting down.
pub fn stopping(status: &str) {
    let mut progress = PROGRESS.lock();
    progress.is_ending = true;
    tell(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

/// Notifies that another process is the service from now on.
pub fn moved_to(pid: u32) {
    tell(&[NotifyState::MainPid(pid), NotifyState::Ready, NotifyState::Status("serving, after an upgrade")]);
    HAS_MOVED.store(true, Ordering::Relaxed);
}

/// Notifies the watchdog at half the interval that it allows, as long as every I/O thread runs new tasks. Never ends;
/// returns at once without a watchdog.
pub async fn watchdog(io_threads: Vec<Handle>) {
    let Some(allowed) = sd_notify::watchdog_enabled().filter(|time| !time.is_zero()) else { return };
    let half = (allowed / 2).max(LEAST_PAUSE);
    info!(target: "server", "systemd's watchdog is told every {half:?} that the I/O threads answer");
    let mut tick = interval(half);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if answer(&io_threads, half).await {
            tell(&[NotifyState::Watchdog]);
        } else {
            warn!(
                target: "server",
                "an I/O thread has not answered for {half:?}: systemd's watchdog is not served, and ends this process \
                 {allowed:?} after it last was (WatchdogSec=)"
            );
        }
    }
}

async fn answer(io_threads: &[Handle], limit: Duration) -> bool {
    let answers: Vec<_> = io_threads.iter().map(|io_thread| io_thread.spawn(async {})).collect();
    timeout(limit, async {
        for answer in answers {
            let _ = answer.await;
        }
    })
    .await
    .is_ok()
}

/// The sockets that systemd has started this process with (sd_listen_fds(3)).
pub fn activated(environment: &[(OsString, OsString)]) -> Result<Vec<InheritedSocket>, String> {
    let handed = numbers(environment)?.map(|number| match take(number) {
        Ok(socket) => Ok(InheritedSocket { socket, asked: format!("fd://{number}"), is_activated: true }),
        Err(error) => Err(format!("the activated sockets cannot be taken: {error}")),
    });
    handed.collect()
}

/// Their file descriptors, which are all open.
pub fn numbers(environment: &[(OsString, OsString)]) -> Result<Range<RawFd>, String> {
    let find = |name: &str| environment.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.to_str());
    if find("LISTEN_PID") != Some(&std::process::id().to_string()) {
        return Ok(FIRST..FIRST);
    }
    let value = find("LISTEN_FDS").unwrap_or("0");
    let count: u16 = value.parse().map_err(|_| format!("LISTEN_FDS={value} in the environment is not a number"))?;
    let numbers = FIRST..FIRST + RawFd::from(count);
    if let Some(missing) = numbers.clone().find(|number| !is_open(*number)) {
        let right = match missing - FIRST {
            0 => "what started this program has closed it".to_owned(),
            open => format!("LISTEN_FDS={open} would be right"),
        };
        return Err(format!(
            "LISTEN_FDS={value} in the environment, but file descriptor {missing} is not open: {right}"
        ));
    }
    Ok(numbers)
}

/// Warns of sockets that systemd has handed to the process that started this one, such as a shell: this process does
/// not take them, and what it binds in their place may be in use by systemd.
pub fn warn_of_missed() {
    let find = |name: &str| std::env::var(name).unwrap_or_default();
    if let Some(why) = missed(&find("LISTEN_PID"), &find("LISTEN_FDS"), parent_id()) {
        warn!(target: "server", "{why}");
    }
}

fn missed(meant: &str, count: &str, parent: u32) -> Option<String> {
    let is_meant = meant == parent.to_string() && count.parse().is_ok_and(|count: u16| count > 0);
    is_meant.then(|| {
        format!(
            "LISTEN_FDS={count} in the environment is for process {parent}, which started this one, so no socket is \
             taken: in a script, start the server with exec"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_the_process_that_started_this_one_are_told_of() {
        assert!(missed("7", "1", 7).unwrap().contains("for process 7, which started this one"));
        for (meant, count) in [("", ""), ("7", ""), ("7", "0"), ("8", "1"), ("7", "x")] {
            assert_eq!(missed(meant, count, 7), None, "{meant:?} {count:?}");
        }
    }

    #[test]
    fn what_is_meant_for_another_process_is_left_alone_and_nonsense_is_told() {
        let with = |pid: String, count: &str| {
            let pairs = [("LISTEN_PID", pid.as_str()), ("LISTEN_FDS", count)];
            let environment: Vec<_> = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
            activated(&environment)
        };
        let ours = std::process::id().to_string();
        assert!(with("1".into(), "1").unwrap().is_empty());
        assert!(with(ours.clone(), "x").unwrap_err().contains("not a number"));
        assert!(with(ours, "4000").unwrap_err().contains("is not open"));
    }
}
