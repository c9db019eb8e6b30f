//! Commands that change a server: one request each; prints the outcome.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Map, Value, json};

use crate::client::call::Call;
use crate::client::control_client::{ClientError, ControlClient};
use crate::client::find;
use crate::client::outcome::{Failure, say};
use crate::client::text::plain_lines;
use crate::config::commands::Flag;

/// Interval at which a server is polled until it is gone.
const LOOK: Duration = Duration::from_millis(100);
/// Time for a process that does not answer any more to write its last lines and remove its files.
const LAST_TIME: Duration = Duration::from_secs(10);

/// Sends the action of this name, which has no parameters but the application.
pub fn plain(call: &Call, word: &str) -> Result<(), Failure> {
    order(call, &format!("/v1/{word}"), json!({}))
}

pub fn scale(call: &Call) -> Result<(), Failure> {
    let value = call.value.as_deref().unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().ok();
    let parameters = match value.split_once(':') {
        None => number(value).map(|workers| json!({ "workers": workers })),
        Some((min, max)) => number(min).zip(number(max)).map(|(min, max)| json!({ "min": min, "max": max })),
    };
    let wrong = || Failure::usage(format!("{value}: must be a number of workers, such as 4, or MIN:MAX, such as 2:8"));
    order(call, "/v1/scale", parameters.ok_or_else(wrong)?)
}

pub fn kill_worker(call: &Call) -> Result<(), Failure> {
    let value = call.value.as_deref().unwrap_or_default();
    let worker: u32 = value.parse().map_err(|_| {
        Failure::usage(format!("{value}: must be the number of a worker; foolsgold workers tells them"))
    })?;
    let parameters = json!({ "now": call.has(Flag::Now) });
    order(call, &format!("/v1/workers/{worker}/kill"), parameters)
}

pub fn drain(call: &Call) -> Result<(), Failure> {
    end(call, "/v1/drain", json!({}))
}

pub fn stop(call: &Call) -> Result<(), Failure> {
    end(call, "/v1/stop", json!({ "now": call.has(Flag::Now) }))
}

/// Shuts the server down and waits until it is gone: until its socket has no listener, or another process's, and its
/// own process has exited. A new server then finds nothing in use.
fn end(call: &Call, target: &str, parameters: Value) -> Result<(), Failure> {
    let line = find::server(call)?;
    let before = match pid(&line) {
        Err(error @ ClientError::Silent(_)) => return Err(error.failure(&line.socket)),
        known => known.ok().flatten(),
    };
    let process = before.and_then(|pid| process(&line, pid));
    tell(&line, call, |all| line.brief_order(target, all), parameters)?;
    if call.has(Flag::NoWait) {
        return Ok(());
    }
    let mut interrupts = line.interrupts()?;
    let unwaited = || Failure::failed("not waited for any longer; the server goes on to end");
    loop {
        match pid(&line) {
            Err(ClientError::Gone(_) | ClientError::Other(_)) => break,
            Err(error @ ClientError::Silent(_)) => return Err(error.failure(&line.socket)),
            Ok(now) if now != before => break,
            Ok(_) | Err(ClientError::Refused(..)) => {}
        }
        if !line.wait(LOOK, &mut interrupts) {
            return Err(unwaited());
        }
    }
    let last = Instant::now() + LAST_TIME;
    while process.as_ref().is_some_and(runs) && Instant::now() < last {
        if !line.wait(LOOK / 10, &mut interrupts) {
            return Err(unwaited());
        }
    }
    let _ = say("ended\n");
    Ok(())
}

/// A descriptor of the process with this id, if it is the listener: in another namespace the id differs.
fn process(line: &ControlClient, pid: u64) -> Option<OwnedFd> {
    let listener = front::listener_of(&line.socket).ok().filter(|listener| u64::from(*listener) == pid)?;
    pidfd_open(Pid::from_raw(listener.try_into().ok()?)?, PidfdFlags::empty()).ok()
}

fn runs(process: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&at_once)) == Ok(0)
}

fn pid(line: &ControlClient) -> Result<Option<u64>, ClientError> {
    line.look("/v1/status").map(|status| status["server"]["pid"].as_u64())
}

/// Sends an action and prints the response.
fn order(call: &Call, target: &str, parameters: Value) -> Result<(), Failure> {
    let line = find::server(call)?;
    tell(&line, call, |all| line.order(target, all), parameters)
}

fn tell(
    line: &ControlClient,
    call: &Call,
    order: impl FnOnce(&Value) -> Result<Value, ClientError>,
    parameters: Value,
) -> Result<(), Failure> {
    let mut all = match parameters {
        Value::Object(all) => all,
        _ => Map::new(),
    };
    if let Some(app) = &call.app {
        all.insert("app".to_owned(), json!(app));
    }
    let answer = order(&Value::Object(all)).map_err(|error| error.failure(&line.socket))?;
    // The action has been carried out, whether its message can be printed or not.
    let _ = say(&format!("{}\n", plain_lines(answer["message"].as_str().unwrap_or("done"))));
    Ok(())
}
