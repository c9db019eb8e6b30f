//! The speed measurement: starts and checks all servers, warms them up, measures in rounds of random order, checks
//! again, reports.

use std::io::Write;
use std::path::Path;

use bench_kit::options::record_folder;
use bench_kit::output::{say, shown};
use bench_kit::stats::SeededRng;

use crate::client::Request;
use crate::closed::{self, expect};
use crate::contender::{self, Contender, Running};
use crate::load::{Load, SETUPS};
use crate::options::Options;
use crate::place::Place;
use crate::report::Record;

/// A note above the table.
const SINATRA_MISSING: &str = "sinatra is not in this Ruby: its loads are left out (apt install ruby-sinatra)";

/// A server with its setup.
struct Placed {
    setup: usize,
    server: Running,
}

/// Runs the benchmark.
pub fn run(options: &Options, place: &Place, out: &mut dyn Write) -> Result<(), String> {
    let mut record = Record::new(options, place);
    let folder = record_folder(&options.runs, &record.machine.started)?;
    let mut loads = Load::chosen(options)?;
    let (contenders, missing) = contender::present(&folder, options, place)?;
    record.notes.extend(missing.iter().map(|(who, how)| format!("MISSING: {who} (to get it: {how})")));
    let is_sinatra = |load: &&Load| SETUPS[load.setup].app == "sinatra";
    if loads.iter().any(is_sinatra) && !place.succeeds("ruby", &["-e", "require 'sinatra/base'"]) {
        record.notes.push(SINATRA_MISSING.into());
        loads.retain(|load| !is_sinatra(load));
    }
    let mut servers = start_all(&contenders, &loads, &folder, options, place)?;
    for placed in &servers {
        check_and_warm_up(placed, options, out)?;
    }
    let mut rng = SeededRng::from_clock();
    for round in 1..=options.rounds {
        let mut turns: Vec<(Contender, &Load)> =
            contenders.iter().flat_map(|who| loads.iter().map(|load| (*who, *load))).collect();
        rng.shuffle(&mut turns);
        for (who, load) in turns {
            let placed = servers.iter_mut().find(|one| one.server.contender == who && one.setup == load.setup);
            let Some(placed) = placed else { continue };
            let sample = load.run(&mut placed.server, round, options)?;
            say(out, &format!("round {round}/{}: {who:<17} {:<14} {}", options.rounds, load.name, sample.in_words()))?;
            record.add(load, who, sample);
            record.save(&folder, &loads, options)?;
        }
    }
    for placed in &servers {
        let at = &SETUPS[placed.setup];
        at.check(placed.server.port).map_err(|error| format!("{}, {}: {error}", placed.server.contender, at.name()))?;
    }
    drop(servers);
    out.write_all(record.text(&loads, options).as_bytes()).map_err(|error| error.to_string())?;
    say(out, &format!("record: {}", shown(&folder)))
}

fn start_all(
    contenders: &[Contender],
    loads: &[&Load],
    folder: &Path,
    options: &Options,
    place: &Place,
) -> Result<Vec<Placed>, String> {
    let mut servers = Vec::new();
    for (at, setup) in SETUPS.iter().enumerate().filter(|(at, _)| loads.iter().any(|load| load.setup == *at)) {
        for contender in contenders {
            let rackup = options.apps.join(setup.app).join("config.ru");
            let log = folder.join(format!("{contender}-{}.log", setup.name()));
            let server = contender::start(*contender, &rackup, setup.shape, &log, options, place)?;
            servers.push(Placed { setup: at, server });
        }
    }
    Ok(servers)
}

fn check_and_warm_up(placed: &Placed, options: &Options, out: &mut dyn Write) -> Result<(), String> {
    let setup = &SETUPS[placed.setup];
    let server = &placed.server;
    say(out, &format!("warming up {}, {}", server.contender, setup.name()))?;
    let ask = |_| Request::get(setup.path);
    let judge = |_, answer: &crate::client::Answer| expect(answer, setup.body);
    let tally = closed::run(server.port, 16, u64::from(options.warm_up), &ask, &judge);
    if tally.bad_count() > 0 {
        let wrong = tally.bad_in_words();
        return Err(format!("{}, {}: {wrong}; see {}", server.contender, setup.name(), server.log.display()));
    }
    Ok(())
}
