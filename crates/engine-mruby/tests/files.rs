//! File, Dir and IO: files below the application's folder can be read, and no others.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support;
use crate::support::table::{ANSWER, agrees, value};
use crate::support::{App, settings};

/// An application with these files in its folder. It answers each request with the value of the Ruby expression in the
/// query.
fn app(config: &str, files: &[(&str, &str)]) -> App {
    let folder = support::folder(files);
    fs::write(folder.path().join("config.ru"), format!("HERE = __dir__\n{config}\n{ANSWER}")).unwrap();
    symlink("/etc/hostname", folder.path().join("leak")).unwrap();
    symlink("notes.txt", folder.path().join("alias")).unwrap();
    symlink(".", folder.path().join("circle")).unwrap();
    App::start(folder, settings()).unwrap()
}

fn small() -> App {
    app(
        "",
        &[
            ("notes.txt", "one\ntwo\nthree"),
            ("views/a.erb", "a"),
            ("views/b.erb", "bb"),
            ("views/sub/c.erb", "c"),
            ("views/.hid/d.erb", ""),
            ("views/.hid/marked.csv", "\u{feff}é,b\n"),
        ],
    )
}

#[test]
fn files_answer_as_on_cruby() {
    agrees(&small(), "files.txt");
}

/// A class that is not there yet would be a StandardError.
#[test]
fn the_classes_of_all_errors_are_there_from_the_start() {
    let listed = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/ruby/core/errors.rb")).unwrap();
    for class in ruby_native::errno::classes() {
        assert!(listed.contains(&format!("{class},")) || listed.contains(&format!("{class}\n")), "{class}");
    }
}

#[test]
fn constants_are_there_before_anything_is_called() {
    assert_eq!(value(&small(), "[File::FNM_DOTMATCH, IO::SEEK_END, File::Constants::LOCK_EX]"), "[4, 2, 2]");
}

#[test]
fn patterns_do_not_explode_and_find_nothing_outside() {
    let app = small();
    for (code, expected) in [
        ("[Dir.exist?('/etc'), Dir.glob('/etc/*'), Dir.glob('../*', base: HERE)]", "[false, [], []]"),
        ("Dir.children('/etc') rescue $!.class", "Errno::EACCES"),
        ("File.fnmatch('*a' * 2000 + 'b', 'a' * 5000)", "false"),
        ("File.fnmatch('**/' * 200 + 'b', 'a/' * 1000, File::FNM_PATHNAME)", "false"),
    ] {
        assert_eq!(value(&app, code), expected, "{code}");
    }
    assert!(value(&app, "Dir.glob('{a,b}' * 30)").starts_with("NoMemoryError: "));
}

#[test]
fn nothing_outside_is_read_while_requests_are_answered() {
    let app = app("AT_LOAD = File.read('/etc/passwd').size > 0", &[("notes.txt", "x")]);
    let outside = |code: &str| {
        let got = value(&app, code);
        assert!(got.starts_with("Errno::EACCES: ") && got.contains("FoolsGold.allow_read"), "{code}: {got}");
    };
    assert_eq!(value(&app, "AT_LOAD"), "true");
    for path in ["'/etc/passwd'", "HERE + '/leak'", "HERE + '/../../etc/passwd'", "'/proc/self/environ'", "'/dev/zero'"]
    {
        outside(&format!("File.read({path})"));
        outside(&format!("File.open({path})"));
        outside(&format!("File.stat({path})"));
        outside(&format!("File.realpath({path})"));
        assert_eq!(
            value(&app, &format!("[File.exist?({path}), File.readable?({path}), File.size?({path})]")),
            "[false, false, nil]"
        );
    }
    assert!(value(&app, "load('/etc/passwd')").starts_with("LoadError"));
    assert!(value(&app, "FoolsGold.allow_read('/')").starts_with("FrozenError: folders are allowed while"));
    for code in ["FoolsGold::Native.seal(['/'])", "FoolsGold.seal_folders", "FoolsGold::Native.allow('/', false)"] {
        assert!(value(&app, code).starts_with("FrozenError: "), "{code}");
    }
    outside("File.read('/etc/passwd')");
    let allowed = self::app("FoolsGold.allow_read '/etc', HERE", &[]);
    assert_eq!(value(&allowed, "File.read('/etc/passwd').size > 0"), "true");
}

#[test]
fn a_body_from_outside_is_not_sent() {
    let app = support::app(
        "class Body; def initialize(path) = @path = path; def to_path = @path; def each; yield 'each'; end; end
         run ->(env) { [200, {}, Body.new(env['PATH_INFO'])] }",
    );
    assert_eq!(app.body("/etc/passwd"), "each");
}

#[test]
fn writing_says_what_to_do() {
    let app = small();
    for code in [
        "File.write('x', 'y')",
        "File.open('x', 'w')",
        "File.open(HERE + '/notes.txt', 'r+')",
        "File.open('x', 'a') { }",
        "File.delete(HERE + '/notes.txt')",
        "File.rename('a', 'b')",
        "Dir.mkdir('x')",
        "File.open('x', File::WRONLY | File::CREAT)",
        "IO.copy_stream(File.open(HERE + '/notes.txt'), 'x')",
    ] {
        let got = value(&app, code);
        assert!(got.starts_with("NotImplementedError: ") && got.contains("docs/data.md"), "{code}: {got}");
    }
    assert_eq!(value(&app, "File.open(HERE + '/notes.txt').write('x')"), "IOError: not opened for writing");
}

#[test]
fn files_that_nobody_closes_are_closed() {
    let app = small();
    assert_eq!(value(&app, "5000.times { File.open(HERE + '/notes.txt') }; 1"), "1");
    let held = "ALL = []
        begin
          5000.times { ALL << File.open(HERE + '/notes.txt') }
        rescue SystemCallError => e
          [e.class, ALL.size > 500]
        end";
    assert_eq!(value(&app, held), "[Errno::EMFILE, true]");
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let app = app("FoolsGold.allow_read '/dev'", &[]);
    let pipe = value(&app, "HERE + '/pipe'");
    assert!(std::process::Command::new("mkfifo").arg(pipe.trim_matches('"')).status().unwrap().success());
    for path in ["HERE + '/pipe'", "'/dev/zero'", "'/dev/tty'"] {
        for code in [format!("File.read({path})"), format!("File.open({path})"), format!("File.foreach({path}) {{ }}")]
        {
            let got = value(&app, &code);
            assert!(
                got.starts_with("IOError: it is not a regular file") || got.contains("No such device"),
                "{code}: {got}"
            );
        }
    }
}
