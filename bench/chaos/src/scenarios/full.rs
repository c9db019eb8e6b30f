//! Exhausted resources: disk space, file size, open files.

use std::net::TcpStream;
use std::time::Duration;

use loadgen::{SeededRng, Workload};

use super::deaths::kill_one;
use crate::app;
use crate::count::Count;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::slow::{self, Reader};
use crate::stage::Stage;

/// The failure of a request that finds no disk space.
const NO_ROOM: &str = "status 507";
/// Size of bodies that are kept in files.
const BODY_BYTES: usize = 600_000;
/// Length of the response of `/big` in apps/sinatra.ru.
pub const BIG: usize = 64 * 65_536 + 4;

/// A small disk for temporary files.
pub fn disk(stage: &Stage) -> Result<Findings, String> {
    let folder = stage.folder.join("tmp");
    std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
    let place = folder.display().to_string();
    let mut setup = Setup::ruby(app::SINATRA, 2, 4);
    setup.env.push(("TMPDIR", place.clone()));
    // A mount in a namespace of its own disappears with its processes.
    let mount = "mount -t tmpfs -o size=3m chaos \"$0\" && exec \"$@\"";
    setup.before = ["unshare", "--mount", "sh", "-c", mount, &place].map(str::to_owned).to_vec();
    spooling(stage, &setup)
}

/// Files may not grow beyond half a megabyte; a larger write gets SIGXFSZ and an error.
pub fn file_size(stage: &Stage) -> Result<Findings, String> {
    let mut setup = Setup::ruby(app::SINATRA, 2, 4).with(&["--log", "off,server=info"]);
    setup.before = ["prlimit", "--fsize=524288:524288"].map(str::to_owned).to_vec();
    spooling(stage, &setup)
}

fn spooling(stage: &Stage, setup: &Setup) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, setup)?;
    let load = server.load(&app::sinatra()?);
    let bodies = server.load_of(&uploads()?, 8);
    let reader = Reader {
        path: "/big",
        bytes: 100_000,
        pace: Duration::from_millis(50),
        length: BIG,
        ending: "end\n",
        limit: Duration::from_secs(60),
    };
    stage.doing("fills the disk");
    let readings = slow::readers(server.port, 6, &reader);
    pause(stage.lasts(20.0, 4.0));
    // Only several bodies at once fill it, which may take a while.
    pace::within(Duration::from_secs(10), || bodies.count().errors.contains_key(NO_ROOM));
    let bodies = bodies.end();
    findings.count("safe ones", &load.end(), &[]);
    findings.bound(Duration::from_secs(5));
    stage.doing("waits for slow readers");
    findings.complaints.extend(slow::outcome(readings));
    judge_bodies(&bodies, &mut findings);
    Ok(server.recover_and_end(findings))
}

/// A body that finds no space must be refused with a clear response.
fn judge_bodies(bodies: &Count, findings: &mut Findings) {
    let refused = bodies.errors.get(NO_ROOM).copied().unwrap_or(0);
    findings
        .remark(format!("of {} request bodies, {refused} were refused because the disk was full", bodies.requests()));
    findings.take(bodies, &[NO_ROOM]);
    let others = Count { right: bodies.right.max(1), ..bodies.clone() };
    findings.complaints.extend(others.complaint(&[NO_ROOM]));
    findings.expect(refused > 0, || "no body was ever refused: the disk was not full".to_owned());
}

fn uploads() -> Result<Workload, String> {
    let body = "gold".repeat(BODY_BYTES / 4);
    // Without a type Rack parses a body as a form.
    let rest = r#""headers": { "content-type": "application/octet-stream" }, "length": 64"#;
    app::workload(&[&format!(r#"{{ "path": "/digest", "method": "POST", "body": "{body}", {rest} }}"#)])
}

/// Idle connections take all open files; a worker dies meanwhile, and its replacement needs some.
pub fn open_files(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let mut setup = Setup::ruby(app::SINATRA, 3, 2);
    setup.before = ["prlimit", "--nofile=160:160"].map(str::to_owned).to_vec();
    let server = Server::start(stage, &setup)?;
    let load = server.load(&app::sinatra()?);
    let mut rng = SeededRng::from_seed(3);
    let rounds = if stage.is_quick { 1 } else { 5 };
    let mut killed = 0;
    for round in 1..=rounds {
        pause(Duration::from_millis(500));
        // Once no more files can be opened, there may be no status.
        let workers = server.workers();
        stage.doing(format!("holds connections, round {round}"));
        let idle: Vec<TcpStream> =
            (0..300).filter_map(|_| TcpStream::connect(("127.0.0.1", server.port)).ok()).collect();
        pause(Duration::from_millis(700));
        killed += u32::from(kill_one(&workers, &mut rng));
        pause(Duration::from_millis(1500));
        findings.remark(format!("{} idle connections were open", idle.len()));
        drop(idle);
        pause(Duration::from_secs(1));
    }
    findings.expect(killed == rounds, || format!("{killed} workers could be killed, not {rounds}"));
    findings.count("safe ones", &load.end(), &[]);
    findings.bound(Duration::from_secs(8));
    Ok(server.recover_and_end(findings))
}
