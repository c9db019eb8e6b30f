//! Starts a server: fills in its recipe, writes its files, and starts its processes in order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::plan::{Allocator, CommandLine, Words};
use super::presence;
use super::server::{MARK, Server, Wanted};
use super::temporary::TemporaryFiles;
use loadgen::process::{self, Launch, MemoryGroup, Ports, Process};

/// Variable from which Rails takes the size of its connection pool.
const RAILS_MAX_THREADS: &str = "RAILS_MAX_THREADS";

struct PreparedServer {
    words: Words,
    /// The ports in its words.
    ports: Ports,
    lines: Vec<CommandLine>,
    /// The server's own folder, seen from outside.
    folder: PathBuf,
}

fn prepare(wanted: &Wanted<'_>) -> Result<PreparedServer, String> {
    let recipe = wanted.recipe;
    let environment = wanted.environment;
    let app = wanted.rackup.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = wanted.rackup.file_name().ok_or_else(|| format!("{} is no file", wanted.rackup.display()))?;
    if !wanted.rackup.is_file() {
        return Err(format!("there is no {}", wanted.rackup.display()));
    }
    let folder = environment.bring(app)?;
    let (outside, tmp) = environment.scratch(&recipe.name)?;
    let mut words = Words {
        requested_workers: wanted.workers,
        requested_threads: wanted.threads,
        rackup: folder.join(file),
        file: file.to_string_lossy().into_owned(),
        folder,
        tmp,
        idle_s: wanted.idle_s.unwrap_or(0),
        stock: wanted.stock,
        found: presence::find(recipe, environment).map_err(|lacks| format!("it lacks {}", lacks.join(", ")))?,
        ..Words::default()
    };
    words.resolve(recipe)?;
    let ports = process::free_ports(2 + words.workers as usize)?;
    (words.port, words.spare_port) = (ports.numbers[0], ports.numbers[1]);
    words.ports = ports.numbers[2..].to_vec();
    words.sockets =
        (0..words.workers).map(|index| words.tmp.join(format!("{index}.sock")).display().to_string()).collect();
    let mut lines = Vec::new();
    for part in &recipe.processes {
        lines.extend(words.lines(recipe, part)?);
    }
    Ok(PreparedServer { words, ports, lines, folder: outside })
}

fn launch(wanted: &Wanted<'_>, prepared: PreparedServer) -> Result<Server, String> {
    let recipe = wanted.recipe;
    let environment = wanted.environment;
    let PreparedServer { words, ports, lines, folder } = prepared;
    let mark = format!("{}-{}-{}", std::process::id(), words.port, wanted.label);
    let group = wanted
        .memory_limit
        .map(|bytes| MemoryGroup::new(&format!("arena-{}-{}", std::process::id(), words.port), bytes));
    let mut server = Server {
        worker_pattern: words.pattern(&recipe.count.worker)?,
        thread_pattern: recipe.count.thread.as_ref().map(|thread| words.pattern(thread)).transpose()?,
        recipe: recipe.clone(),
        environment: environment.clone(),
        allocator: None,
        processes: Vec::new(),
        commands: Vec::new(),
        began: Instant::now(),
        has_new_master: false,
        is_stopped: false,
        temporary: TemporaryFiles::prepare(environment)?,
        group: group.transpose()?,
        mark,
        words,
        _ports: ports,
    };
    for file in &recipe.files {
        let text = server.words.fill(&file.text)?;
        let path = folder.join(&file.name);
        fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
        server.commands.push(format!("# {}\n{text}", file.name));
    }
    server.commands.extend(server.group.as_ref().map(|group| format!("# {}", group.in_words())));
    let mut settings = wanted.env.clone();
    // As many database connections as threads, under every server. A server of fibers has fewer threads than requested,
    // one that cannot fork may have more. One that is to choose the number of its threads must not take it from this.
    if !recipe.chooses_workers() {
        let threads = server.words.threads.max(server.words.requested_threads);
        settings.entry(RAILS_MAX_THREADS.to_owned()).or_insert_with(|| threads.to_string());
    }
    if let Some((pattern, package)) = wanted.allocator.and_then(Allocator::library) {
        if let Some(why) = recipe.cannot.get("allocator") {
            return Err(format!("it takes no other allocator: {why}"));
        }
        let library = presence::allocator(environment, pattern, package)?;
        settings.insert("LD_PRELOAD".into(), library.clone());
        server.allocator = Some(library);
    }
    server.began = Instant::now();
    let is_alone = lines.len() == 1;
    for line in lines {
        let name = if is_alone { wanted.label.clone() } else { format!("{}-{}", wanted.label, line.name) };
        server.begin(line, &settings, &wanted.logs.join(format!("{name}.log")))?;
    }
    server.commands.push(format!("# environment: {}", environment.variables_in_words()));
    Ok(server)
}

impl Server {
    /// Starts its processes. [`Server::wait_ready`] waits until it answers.
    pub fn start(wanted: Wanted<'_>) -> Result<Server, String> {
        let started = prepare(&wanted).and_then(|prepared| launch(&wanted, prepared));
        started.map_err(|error| format!("{}: {error}", wanted.recipe.name))
    }

    fn begin(&mut self, line: CommandLine, settings: &BTreeMap<String, String>, log: &Path) -> Result<(), String> {
        let proc = self.environment.proc();
        let namespace = self.recipe.namespace.then_some(proc.as_path());
        let before = Launch { namespace, group: self.group.as_ref() }.words();
        let mut env = settings.clone();
        env.extend(line.env);
        let bundler = if line.is_gem { self.environment.bundler() } else { &[] };
        let mut words: Vec<String> = bundler.iter().map(|word| (*word).to_owned()).chain(line.words).collect();
        self.commands.push(self.environment.without_home(&shown(&env, &words)));
        env.insert(MARK.into(), self.mark.clone());
        env.entry("TMPDIR".to_owned()).or_insert_with(|| self.temporary.variable());
        let program = self.environment.program(&words.remove(0))?;
        let mut command = self.environment.command_behind(&before, &program, &self.words.folder, &env);
        command.args(&words);
        self.processes.push(Process::start(&line.name, command, log)?);
        Ok(())
    }
}

/// The command line as it would be typed in a shell.
fn shown(env: &BTreeMap<String, String>, words: &[String]) -> String {
    let settings = env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    settings.chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

/// The word as it would be typed in a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
