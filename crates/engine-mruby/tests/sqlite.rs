//! SQLite: the gem's API, and the limits on time, memory and files.

use std::time::{Duration, Instant};

use crate::support::table::{ANSWER, agrees, assert_begins, value};
use crate::support::{App, get, settings, try_files, until, wait, within};
use engine::{Engine, Fault};
use engine_mruby::Settings;

fn app(config: &str, settings: Settings) -> App {
    let config = format!("HERE = __dir__\nrequire \"sqlite3\"\n{config}");
    try_files(&[("config.ru", &config), ("data/.keep", "")], settings).unwrap()
}

fn small(config: &str) -> App {
    app(&format!("{config}\n{ANSWER}"), settings())
}

#[test]
fn it_answers_as_the_gem_does() {
    let fresh = include_str!("tables/sqlite3.rb");
    agrees(&small(fresh), "sqlite3.txt");
}

#[test]
fn a_database_outlives_its_interpreter() {
    let config = "DB = SQLite3::Database.new(HERE + '/data/test.db')
        DB.execute('create table if not exists hits (at text)')
        run ->(env) { DB.execute('insert into hits values (?)', [env['PATH_INFO']])
          [200, {}, [DB.get_first_value('select count(*) from hits').to_s]] }";
    let app = app(config, Settings { fresh: true, ..settings() });
    for count in 1..6 {
        assert_eq!(app.body("/"), count.to_string());
    }
}

#[test]
fn all_interpreters_write_to_one_file() {
    let config = "DB = SQLite3::Database.new(HERE + '/data/test.db')
        DB.journal_mode = 'wal'
        DB.execute('create table if not exists n (n integer)')
        DB.execute('insert into n select 0 where not exists (select 1 from n)')
        run ->(env) {
          DB.transaction(:immediate) { DB.execute('update n set n = ?', [DB.get_first_value('select n from n') + 1]) }
          [200, {}, [DB.get_first_value('select n from n').to_s]] }";
    let app = app(config, Settings { interpreters: 4, queue_places: 100, ..settings() });
    let replies: Vec<_> = (0..60).map(|_| app.engine.call(get("/"))).collect();
    for reply in replies {
        assert!(wait(reply).result.is_ok());
    }
    assert_eq!(app.body("/"), "61");
}

#[test]
fn only_folders_that_the_application_named_are_written_to() {
    let app = small("MEM = SQLite3::Database.new(':memory:')");
    let denied = value(&app, "SQLite3::Database.new(HERE + '/data/x.db')");
    assert!(denied.starts_with("Errno::EACCES: ") && denied.contains("FoolsGold.allow_write"), "{denied}");
    let app = small(
        "FoolsGold.allow_write 'data' if Dir.exist?('data')
         FoolsGold.allow_write HERE + '/data'
         DB = SQLite3::Database.new(HERE + '/config.db')
         DB.execute_batch('create table if not exists t (a); insert into t values (5)')
         MEM = SQLite3::Database.new(':memory:')",
    );
    assert_eq!(value(&app, "SQLite3::Database.new(HERE + '/data/x.db').execute('select 1')"), "[[1]]");
    let read = "SQLite3::Database.new(HERE + '/config.db', readonly: true)";
    assert_eq!(value(&app, &format!("{read}.get_first_value('select a from t')")), "5");
    assert_begins(&app, &format!("{read}.execute('insert into t values (1)')"), "SQLite3::ReadOnlyException: ");
    for (code, expected) in [
        ("SQLite3::Database.new(HERE + '/other.db')", "Errno::EACCES: "),
        ("SQLite3::Database.new('/etc/passwd', readonly: true)", "Errno::EACCES: "),
        ("SQLite3::Database.new(HERE + '/data/../other.db')", "Errno::EACCES: "),
        ("SQLite3::Database.new('file:' + HERE + '/other.db')", "Errno::"),
        ("SQLite3::Database.new(HERE + '/data')", "SQLite3::CantOpenException: "),
        ("SQLite3::Database.new(HERE + '/data/none.db', readwrite: true)", "SQLite3::CantOpenException: "),
        ("MEM.execute(\"attach '\" + HERE + \"/other.db' as o\")", "SQLite3::AuthorizationException: "),
        ("MEM.execute(\"attach 'file:\" + HERE + \"/other.db' as o\")", "SQLite3::AuthorizationException: "),
        ("MEM.execute('attach ? as o', [HERE + '/other.db'])", "SQLite3::AuthorizationException: "),
        ("MEM.execute(\"vacuum into '\" + HERE + \"/other.db'\")", "SQLite3::AuthorizationException: "),
        ("MEM.execute('pragma temp_store_directory = 1')", "SQLite3::AuthorizationException: "),
        ("MEM.execute('select load_extension(1)')", "SQLite3::"),
    ] {
        assert_begins(&app, code, expected);
    }
    assert_eq!(value(&app, "MEM.execute(\"attach '\" + HERE + \"/data/y.db' as y\")"), "[]");
    assert_eq!(value(&app, "MEM.execute('vacuum')"), "[]");
    assert_eq!(value(&app, "File.exist?(HERE + '/other.db')"), "false");
}

#[test]
fn many_rows_come_in_pieces() {
    let app = small("DB = SQLite3::Database.new(':memory:')");
    let rows =
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 50000) select n, 'row ' || n from c";
    assert_eq!(value(&app, &format!("DB.execute(\"{rows}\").size")), "50000");
    assert_eq!(value(&app, &format!("DB.execute(\"{rows}\").last")), "[50000, \"row 50000\"]");
    assert_eq!(value(&app, &format!("n = 0; DB.query(\"{rows}\").each {{ |row| n += row[0] }}; n")), "1250025000");
    let first = format!("DB.prepare(\"{rows}\") {{ |s| s.each {{ |row| break row }} }}");
    assert_eq!(value(&app, &first), "[1, \"row 1\"]");
}

const HOSTILE: &str = "
require 'timeout'
FoolsGold.allow_write HERE + '/data'
DB = SQLite3::Database.new(HERE + '/data/test.db')
DB.execute('create table if not exists t (a)')
ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) '
run ->(env) {
  case env['PATH_INFO']
  when '/endless' then DB.execute(ENDLESS + 'select count(*) from c')
  when '/rows' then DB.execute(ENDLESS + 'select n from c')
  when '/each' then DB.execute(ENDLESS + 'select n from c') { |row| row }
  when '/insert' then DB.execute('insert into t ' + ENDLESS + 'select n from c')
  when '/sort' then DB.execute(ENDLESS + 'select n from c order by -n')
  when '/join'
    DB.execute('with c(n) as (values (1), (2), (3), (4), (5), (6), (7), (8)) select count(*) from ' +
    (['c'] * 30).each_with_index.map { |c, i| c + ' as c' + i.to_s }.join(', '))
  when '/rescue' then begin; DB.execute(ENDLESS + 'select count(*) from c'); rescue Exception; retry; end
  when '/blob' then begin; DB.execute('select zeroblob(1000000000)'); rescue => e; return [200, {}, [e.class.to_s]]; end
  when '/memory'
    begin
      m = SQLite3::Database.new(':memory:'); m.execute('create table t (a)')
      m.execute('insert into t ' + ENDLESS + 'select randomblob(10000) from c')
    rescue => e
      return [200, {}, [e.class.to_s]]
    end
  when '/instr' then DB.execute(\"select instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || 'b')\")
  when '/like' then DB.execute(\"select hex(zeroblob(4000000)) like ?\", ['%0' * 400 + '1'])
  when '/replace'
    DB.execute(\"select length(replace(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || 'b', 'c'))\")
  when '/begin'
    DB.execute('begin immediate'); DB.execute('insert into t values (1)')
    return [200, {}, ['left open']]
  when '/open' then $s = DB.prepare('select 1 union select 2'); $s.step; return [200, {}, ['left open']]
  when '/close'
    other = SQLite3::Database.new(DB.filename)
    other.execute('begin immediate')
    $s = other.prepare('insert into t values (6)')
    other.close
    return [200, {}, ['left open']]
  when '/lock' then DB.execute('begin immediate'); sleep
  when '/write' then DB.execute('insert into t values (2)'); DB.execute('delete from t')
  when '/busy'
    DB.busy_timeout = 20
    begin; DB.execute('insert into t values (3)'); rescue => e; return [200, {}, [e.class.to_s]]; end
  when '/pragma' then DB.execute('pragma busy_timeout = 60000'); DB.execute('insert into t values (4)')
  when '/short'
    DB.execute('PRAGMA busy_timeout = 1')
    begin; DB.execute('insert into t values (5)'); rescue => e; return [200, {}, [e.class.to_s]]; end
  when '/timeout'
    begin
      Timeout.timeout(0.1) { DB.execute('insert into t values (7)') }
    rescue => e
      return [200, {}, [e.class.to_s]]
    end
  when '/many' then a = []
    begin; loop { a << SQLite3::Database.new(':memory:') }; rescue SystemCallError; return [200, {}, ['enough']]; end
  end
  [200, {}, ['fine']]
}";

#[test]
fn endless_sql_ends_in_time_and_holds_nobody_up() {
    let app = app(HOSTILE, Settings { memory_bytes: 64 << 20, ..settings() });
    for path in ["/endless", "/rows", "/each", "/insert", "/sort", "/join", "/rescue"] {
        let begin = Instant::now();
        let stuck = app.engine.call(within(path, 1000));
        assert!(begin.elapsed() < Duration::from_millis(400), "{path} held the I/O thread for {:?}", begin.elapsed());
        while begin.elapsed() < Duration::from_millis(800) {
            let asked = Instant::now();
            assert_eq!(app.body("/ok"), "fine");
            // A request that is held up would wait for the end of the other one.
            assert!(asked.elapsed() < Duration::from_millis(900), "during {path}: {:?}", asked.elapsed());
        }
        match wait(stuck).result {
            Err(Fault::OutOfTime(_)) => {}
            Err(Fault::OutOfMemory(_)) if ["/rows", "/sort"].contains(&path) => {}
            Err(Fault::App(error)) if error.class == "FoolsGold::RequestTimeout" => {}
            Err(Fault::App(error)) if error.class == "SQLite3::MemoryException" && path == "/sort" => {}
            other => panic!("{path}: {other:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(3), "{path} took {:?}", begin.elapsed());
        // Nothing is left of the transaction, not even a lock.
        assert_eq!(app.got(within("/write", 3000)).body, "fine", "after {path}");
    }
}

#[test]
fn a_block_gets_more_rows_than_memory_holds_and_may_stop() {
    let config = "require 'sqlite3'
        NUMBERS = 'with recursive c(n) as (select 1 union all select n + 1 from c limit 300000) '
        ROWS = NUMBERS + 'select n, hex(zeroblob(200)) from c'
        run ->(env) {
          db = SQLite3::Database.new(':memory:')
          count = first = 0
          db.execute(ROWS) { |row| count += row[1].size == 400 ? 1 : 0 }
          names = nil
          db.execute2(ROWS) { |row| names ||= row; break if (first += 1) == 5000 }
          db.execute('create table t (a)')
          few = []
          db.execute2('select 1 as one') { |row| few << row }
          [200, {}, [[count, names, first, few, db.execute('select 2') { |row| few << row }, few.size].inspect]]
        }";
    let app = app(config, Settings { memory_bytes: 64 << 20, ..settings() });
    let expected = r#"[300000, ["n", "hex(zeroblob(200))"], 5000, [["one"], [1], [2]], nil, 3]"#;
    assert_eq!(app.body("/"), expected);
}

#[test]
fn large_values_and_large_databases_in_memory_are_refused() {
    let app = app(HOSTILE, settings());
    assert_eq!(app.body("/blob"), "SQLite3::TooBigException");
    assert_eq!(app.got(within("/memory", 20_000)).body, "SQLite3::MemoryException");
    assert_eq!(app.body("/many"), "enough");
    assert_eq!(app.body("/write"), "fine");
}

#[test]
fn functions_on_long_texts_do_not_take_for_ever() {
    let app = app(HOSTILE, Settings { memory_bytes: 256 << 20, ..settings() });
    for path in ["/instr", "/replace", "/like"] {
        let begin = Instant::now();
        let answer = app.call(within(path, 2000));
        assert!(begin.elapsed() < Duration::from_secs(10), "{path} took {:?}: {answer:?}", begin.elapsed());
    }
}

#[test]
fn what_a_request_leaves_open_ends_with_it() {
    let app = app(HOSTILE, settings());
    for path in ["/begin", "/open", "/close"] {
        assert_eq!(app.body(path), "left open");
        for _ in 0..4 {
            assert_eq!(app.got(within("/write", 2000)).body, "fine", "after {path}");
        }
    }
}

#[test]
fn what_is_left_open_when_the_application_is_loaded_ends_then() {
    let config = "FoolsGold.allow_write HERE + '/data'
        DB = SQLite3::Database.new(HERE + '/data/test.db')
        DB.execute('create table if not exists t (a)')
        DB.execute('insert into t values (1), (2)')
        ROWS = DB.prepare('select a from t')
        FIRST = ROWS.first
        run ->(env) {
          other = SQLite3::Database.new(DB.filename)
          other.busy_timeout = 0
          other.execute('insert into t values (3)')
          [200, {}, [[FIRST, ROWS.first].inspect]] }";
    let app = app(config, Settings { interpreters: 1, ..settings() });
    assert_eq!(app.body("/"), "[[1], [1]]");
}

#[test]
fn a_lock_is_waited_for_and_not_for_ever() {
    let app = app(HOSTILE, settings());
    let holder = app.engine.call(within("/lock", 600));
    let begin = Instant::now();
    until("it runs", || app.engine.status().idle < 2);
    std::thread::park_timeout(Duration::from_millis(50));
    assert_eq!(app.body("/busy"), "SQLite3::BusyException");
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    assert!(wait(holder).result.is_err());
    assert_eq!(app.got(within("/write", 3000)).body, "fine");
}

#[test]
fn a_timeout_ends_the_wait_for_a_lock() {
    let app = app(HOSTILE, settings());
    let holder = app.engine.call(within("/lock", 2000));
    let begin = Instant::now();
    until("it runs", || app.engine.status().idle < 2);
    std::thread::park_timeout(Duration::from_millis(50));
    assert_eq!(app.got(within("/timeout", 1500)).body, "Timeout::Error");
    assert!(begin.elapsed() < Duration::from_millis(1500), "{:?}", begin.elapsed());
    assert!(wait(holder).result.is_err());
    assert_eq!(app.got(within("/write", 3000)).body, "fine");
}

#[test]
fn the_pragma_for_the_wait_keeps_to_the_time_of_the_request() {
    let app = app(HOSTILE, settings());
    let holder = app.engine.call(within("/lock", 3000));
    let begin = Instant::now();
    while app.got(within("/short", 1000)).body != "SQLite3::BusyException" {
        assert!(begin.elapsed() < Duration::from_secs(2), "no lock is held");
    }
    let begin = Instant::now();
    let answer = app.call(within("/pragma", 300));
    assert!(answer.result.is_err(), "{answer:?}");
    assert!(begin.elapsed() < Duration::from_millis(1500), "{:?}", begin.elapsed());
    assert!(wait(holder).result.is_err());
    assert_eq!(app.got(within("/write", 3000)).body, "fine");
}
