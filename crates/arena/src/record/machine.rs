//! Facts of this machine and of the tools that load it, without which no figure can be judged. No host names, no paths.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use loadgen::process::output_within;
use procfs::{Current, LoadAverage, Meminfo};

use super::date;

/// Time limit of a program that prints its version.
const SAID_LIMIT: Duration = Duration::from_secs(60);

/// Facts with their names, in display order. Unknown ones are left out.
pub fn facts() -> Vec<(String, String)> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let facts = [
        ("date", Some(date::now())),
        ("processor", processor(&cpu)),
        ("memory", memory()),
        ("virtualisation", virtualisation(&cpu)),
        ("governor", one_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("kernel", said("uname", &["-sr"])),
        ("system", distribution(&fs::read_to_string("/etc/os-release").unwrap_or_default())),
        ("load before", load()),
        ("wrk", said("wrk", &["-v"]).and_then(|text| version(&text))),
        ("siege", said("siege", &["-V"]).and_then(|text| version(&text))),
        ("ab", said("ab", &["-V"]).and_then(|text| version(&text))),
        ("commit", commit()),
        ("open loops", Some(open_loops().to_owned())),
    ];
    facts.into_iter().filter_map(|(name, value)| value.map(|value| (name.to_owned(), value))).collect()
}

/// Names of the facts that must be equal for figures of two runs to be comparable; all others change from day to day.
pub const LASTING: [&str; 10] =
    ["processor", "memory", "virtualisation", "governor", "kernel", "system", "wrk", "siege", "ab", "open loops"];

/// The priority at which the load generator runs in open loops.
fn open_loops() -> &'static str {
    match loadgen::may_be_real_time() {
        true => "at real-time priority",
        false => "at the servers' priority: no other is permitted",
    }
}

/// Load average per processor above which the machine is busy with other work.
const LOAD_SHARE_MAX: f64 = 0.5;

/// Warning that the machine is busy with other work, which affects its figures.
pub fn company() -> Option<String> {
    company_of(before().map_or(0.0, |load| load.one.into()), cores())
}

fn company_of(load: f64, cores: u32) -> Option<String> {
    let processors = processors(cores);
    (load >= f64::from(cores) * LOAD_SHARE_MAX).then(|| {
        format!(
            "the machine was busy with other work at the beginning (a load of {load:.1} on {processors}): its figures \
             are those of a busy machine"
        )
    })
}

/// A number of processors, in a sentence: `one processor`, `2 processors`.
pub fn processors(count: u32) -> String {
    if count == 1 { "one processor".to_owned() } else { format!("{count} processors") }
}

/// Number of processors that this program may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Load averages at the start of this program. Later ones contain its own work: earlier studies, and asking all servers
/// for their versions, which takes JRuby seconds.
static BEFORE: OnceLock<Option<LoadAverage>> = OnceLock::new();

/// Notes the load of the machine. To be called before this program does anything else.
pub fn note_load() {
    before();
}

fn before() -> Option<&'static LoadAverage> {
    BEFORE.get_or_init(|| LoadAverage::current().ok()).as_ref()
}

/// The warning of [`company`] from a run's recorded facts.
pub fn company_then(facts: &[(String, String)]) -> Option<String> {
    let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let load = fact("load before")?.split(',').next()?.trim().parse().ok()?;
    company_of(load, fact("processor")?.split_whitespace().next()?.parse().ok()?)
}

/// Number and model of the processors for this process. Parsed by hand: procfs only knows the name under which x86
/// gives the model.
fn processor(cpuinfo: &str) -> Option<String> {
    let count = std::thread::available_parallelism().ok()?;
    let names = ["model name", "Model", "Hardware", "cpu model"];
    let named = |line: &str| {
        let (name, value) = line.split_once(':')?;
        names.contains(&name.trim()).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let kind = cpuinfo.lines().find_map(named).unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    Some(format!("{count} × {kind}"))
}

fn memory() -> Option<String> {
    let memory = Meminfo::current().ok()?;
    let swap = if memory.swap_total == 0 { "no swap".into() } else { format!("{} MiB swap", memory.swap_total >> 20) };
    Some(format!("{} MiB, {swap}", memory.mem_total >> 20))
}

/// Kind of virtual machine; `None` on a real one, or where the machine does not report it.
fn virtualisation(cpuinfo: &str) -> Option<String> {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags")).flat_map(str::split_whitespace);
    let is_guest = flags.any(|flag| flag == "hypervisor");
    let hypervisor = said("systemd-detect-virt", &[]).filter(|text| text != "none");
    let maker = one_line("/sys/class/dmi/id/sys_vendor").filter(|_| is_guest);
    hypervisor.or(maker).or_else(|| is_guest.then(|| "a virtual machine".to_owned()))
}

fn distribution(os_release: &str) -> Option<String> {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Load averages of the last 1, 5 and 15 minutes when this program began.
fn load() -> Option<String> {
    let load = before()?;
    Some(format!("{:.2}, {:.2}, {:.2}", load.one, load.five, load.fifteen))
}

/// Commit of the working tree in which the arena runs, and whether the tree has changes.
fn commit() -> Option<String> {
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"])?;
    let is_hex = commit.chars().all(|c| c.is_ascii_hexdigit());
    let changed = said("git", &["status", "--porcelain", "--untracked-files=no"]).is_some();
    is_hex.then(|| if changed { format!("{commit}, with changes") } else { commit })
}

fn one_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// First line that a program prints, on either stream.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let output = output_within(Command::new(program).args(words), SAID_LIMIT).ok()?;
    let is_complaint = program == "git" && !output.status.success();
    let text = [output.stdout, output.stderr].into_iter().find(|text| !text.trim_ascii().is_empty())?;
    let line = String::from_utf8_lossy(&text).trim().lines().next().map(|line| line.trim().to_owned());
    line.filter(|_| !is_complaint)
}

/// Version in a line: the first word that begins with a digit, or has one after a slash: `wrk debian/4.1.0-3 [epoll]`.
fn version(line: &str) -> Option<String> {
    let numbered = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let ends = |word: &str| word.rsplit('/').next().map(|end| end.trim_end_matches([',', ';']).to_owned());
    line.split_whitespace().filter_map(ends).find(|word| numbered(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_and_tools_say() {
        assert_eq!(version("wrk debian/4.1.0-3+b1 [epoll] Copyright").as_deref(), Some("4.1.0-3+b1"));
        assert_eq!(version("SIEGE 4.0.7").as_deref(), Some("4.0.7"));
        assert_eq!(version("This is ApacheBench, Version 2.3 <$Revision: 1 $>").as_deref(), Some("2.3"));
        assert_eq!(version("no digits"), None);
        assert_eq!(distribution("ID=x\nPRETTY_NAME=\"Some 1\"\n").as_deref(), Some("Some 1"));
        assert!(memory().is_some_and(|text| text.contains(" MiB, ") && text.ends_with("swap")));
        assert!(load().is_some_and(|text| text.split(", ").filter(|one| one.parse::<f64>().is_ok()).count() == 3));
        assert!(processor("model name\t: Some  CPU\n").is_some_and(|text| text.ends_with("× Some CPU")));
    }

    #[test]
    fn a_busy_machine_is_told() {
        assert_eq!(company_of(0.4, 2), None);
        assert!(company_of(13.0, 2).is_some_and(|words| words.contains("13.0 on 2 processors")));
        assert_eq!([1, 2].map(processors), ["one processor", "2 processors"]);
        let facts = |load: &str| [("processor", "2 × A"), ("load before", load)].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(company_then(&facts("0.10, 9.00, 9.00")), None);
        assert!(company_then(&facts("27.80, 9.00, 9.00")).is_some_and(|words| words.contains("27.8 on 2")));
        assert_eq!(company_then(&[]), None);
    }

    #[test]
    fn the_load_is_that_of_the_beginning() {
        note_load();
        let noted = before().unwrap();
        assert!(std::ptr::eq(noted, before().unwrap()));
        assert_eq!(load().unwrap(), format!("{:.2}, {:.2}, {:.2}", noted.one, noted.five, noted.fifteen));
    }

    #[test]
    fn this_machine_has_facts_and_tells_no_paths() {
        let facts = facts();
        let lasting = facts.iter().filter(|(name, _)| LASTING.contains(&name.as_str()));
        assert!(lasting.clone().count() > 4 && lasting.count() < facts.len(), "{facts:?}");
        assert!(facts.iter().any(|(name, _)| name == "processor") && facts.iter().any(|(name, _)| name == "date"));
        assert!(facts.iter().all(|(_, value)| !value.starts_with('/') && !value.is_empty()), "{facts:?}");
    }
}
