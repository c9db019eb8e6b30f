//! Repeats the original measurement of FoolsGold: the same page from foolsgold, from Thin's sixteen servers, from Puma
//! and from a bare hyper server, loaded by ab and wrk in turn. The README beside this explains the method and the
//! remaining bias. This program starts every server and stops it by its own process id.

mod answer;
mod contender;
mod load;
mod machine;
mod nginx;
mod options;
mod report;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use bench_kit::options::record_folder;
use bench_kit::output::{say, shown};
use bench_kit::stats::SeededRng;
use bench_kit::wrk::Sample;
use contender::Running;
use load::Mode;
use options::Options;
use report::Record;

fn main() -> ExitCode {
    let mut out = io::stdout();
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) if options.help => {
            let _ = out.write_all(options::HELP.as_bytes());
            ExitCode::SUCCESS
        }
        Ok(options) => match run(&options, &mut out) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
        Err(error) => failed(&error),
    }
}

fn failed(error: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "bench-fools-gold: {error}");
    ExitCode::FAILURE
}

/// The run: starts and checks all servers, warms them up, measures in rounds of random order, checks again, reports.
fn run(options: &Options, out: &mut dyn Write) -> Result<(), String> {
    let machine = machine::describe(options);
    let folder = record_folder(&options.runs, &machine.started)?;
    let modes = Mode::all(options);
    let mut record = Record::new(machine, &modes);
    let (mut running, missing) = contender::start_all(options, &folder)?;
    record.missing = missing;
    for contender in &mut running {
        say(out, &format!("warming up {} with {} requests", contender.name, options.warm_up))?;
        contender.check()?;
        record.checked(contender.name);
        load::warm_up(contender, options, &folder)?;
    }
    let mut rng = SeededRng::from_clock();
    for round in 1..=options.rounds {
        let mut turns: Vec<(usize, usize)> =
            (0..running.len()).flat_map(|who| (0..modes.len()).map(move |mode| (who, mode))).collect();
        rng.shuffle(&mut turns);
        for (who, mode) in turns {
            let sample = measure(&mut running[who], &modes[mode], &folder)?;
            say(
                out,
                &format!(
                    "round {round}/{}: {} {}",
                    options.rounds,
                    running[who].name,
                    load::in_words(&sample, &modes[mode])
                ),
            )?;
            record.add(running[who].name, mode, sample);
            record.save(&folder)?;
        }
    }
    for contender in &mut running {
        contender.check()?;
        record.checked(contender.name);
    }
    drop(running);
    record.save(&folder)?;
    out.write_all(record.text().as_bytes()).map_err(|error| error.to_string())?;
    say(out, &format!("record: {}", shown(&folder)))
}

/// A measurement. It counts only if the page was right before and after, and the counter has seen all requests in
/// between.
fn measure(contender: &mut Running, mode: &Mode, folder: &Path) -> Result<Sample, String> {
    let before = contender.page()?;
    let mut sample = load::run(contender, mode, folder)?;
    match contender.page() {
        Ok(after) if contender.counts_all && after.count < before.count + sample.requests => {
            sample.errors.push(format!(
                "{} requests were answered, but the count went only from {} to {}",
                sample.requests, before.count, after.count
            ))
        }
        Ok(_) => {}
        Err(error) => sample.errors.push(error),
    }
    Ok(sample)
}
