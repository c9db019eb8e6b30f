//! Starts contenders by hand: try RING|- APP WORKERS THREADS PATH NAME...
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use arena::contender::*;
use arena::place::*;
fn get(port: u16, path: &str) -> Result<(), String> {
    let mut s = std::net::TcpStream::connect(("127.0.0.1", port)).map_err(|e| e.to_string())?;
    s.set_read_timeout(Some(std::time::Duration::from_secs(60))).map_err(|e| e.to_string())?;
    write!(s, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").map_err(|e| e.to_string())?;
    let mut t = Vec::new();
    s.read_to_end(&mut t).map_err(|e| e.to_string())?;
    let t = String::from_utf8_lossy(&t).into_owned();
    if t.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(t.chars().take(500).collect()) }
}
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let place = Place::open(&PlaceOptions { ring: (a[0] != "-").then(|| PathBuf::from(&a[0])), gemfile: std::env::var("GEMFILE").ok().map(PathBuf::from), foolsgold: std::env::var("FOOLSGOLD").ok().map(PathBuf::from) }).unwrap();
    let all = Catalogue::read(Path::new("arena/contenders")).unwrap_or_else(|e| { for x in e { println!("{x}"); } std::process::exit(1) });
    let logs = PathBuf::from("/tmp/contend-logs");
    std::fs::create_dir_all(&logs).unwrap();
    let allocator = match std::env::var("ALLOC").ok().as_deref() { Some("j") => Some(Allocator::Jemalloc), Some("t") => Some(Allocator::Tcmalloc), _ => None };
    for recipe in all.all() {
        if a.len() > 5 && !a[5..].contains(&recipe.name) { continue; }
        let p = look(recipe, &place);
        println!("== {}: {p:?}", recipe.name);
        if matches!(p, Presence::Missing { .. }) { continue; }
        let wanted = Wanted { recipe, place: &place, rackup: Path::new(&a[1]), workers: a[2].parse().unwrap(), threads: a[3].parse().unwrap(), env: BTreeMap::new(), logs: &logs, label: recipe.name.clone(), memory_limit: None, allocator, idle_s: None, extra: vec![] };
        let mut s = match Server::start(wanted) { Ok(s) => s, Err(e) => { println!("   START: {e}"); continue } };
        match s.wait_ready(&|port| get(port, &a[4])) { Ok(d) => print!("   ready {d:?}; "), Err(e) => { println!("   READY: {e}"); println!("   {:?}", s.stop()); continue } }
        for _ in 0..40 { if let Err(e) = get(s.port(), &a[4]) { println!("   AGAIN {e}"); } }
        print!("{:?}; ", s.check_counts());
        print!("{:?}; ", s.usage());
        if std::env::var("HURT").is_ok() {
            print!("kill {:?}; ", s.kill_worker());
            std::thread::park_timeout(std::time::Duration::from_secs(3));
            print!("{:?}; ", s.check_counts());
            let t = std::time::Instant::now();
            print!("reload {:?} {:?}; ", s.reload(), t.elapsed());
            let ok = arena::process::until(std::time::Duration::from_secs(20), || get(s.port(), &a[4]).is_ok());
            print!("answers {ok} ended {} {:?}", s.has_ended(), s.check_counts());
        }
        let t = std::time::Instant::now();
        println!("stop {:?} {:?}", s.stop(), t.elapsed());
    }
}
