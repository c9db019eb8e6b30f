//! Settings that are read again, and the messages about changes.

use std::fs;

use super::*;

#[test]
fn the_file_is_read_afresh_and_what_takes_a_new_start_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("foolsgold.toml");
    let arguments = vec!["-C".into(), file.clone().into(), "-e".into(), "test".into()];
    let invocation = Invocation::new(arguments, Vec::new(), Machine { cores: 2, has_quota: false, memory: None });
    let apps = |shop: &str| format!("[[app]]\nname = \"shop\"\nprefix = \"{shop}\"\nthreads = 7\n");
    fs::write(&file, format!("io-threads = 2\nthreads = 3\n{}", apps("/shop"))).unwrap();
    let first = invocation.resolve(invocation.asked()).unwrap();
    assert_eq!((first.apps[0].mruby.interpreters, first.apps[0].environment.as_str()), (7, "test"));
    assert!(invocation.reload_settings().unwrap().waiting.is_empty());

    let blog = "[[app]]\nname = \"blog\"\n";
    let text = format!("bind = \"unix:///x\"\nio-threads = 4\nthreads = 5\n{}{blog}", apps("/store").replace('7', "8"));
    fs::write(&file, text).unwrap();
    let now = invocation.reload_settings().unwrap();
    assert_eq!(now.apps[0].mruby.interpreters, 8);
    let expected = [
        "io-threads is 4 now and was 2: takes effect at the next start",
        "bind is unix:///x now and was tcp://[::]:9292: takes effect at the next start",
        "the application shop is at every host /store now and was at every host /shop: takes effect at the next start",
        "the application blog is new: it takes effect at the next start",
    ];
    assert_eq!(now.waiting, expected);

    fs::write(&file, "threads = 0\nqueue = \"x\"").unwrap();
    assert_eq!(invocation.reload_settings().unwrap_err().len(), 2);
    fs::remove_file(&file).unwrap();
    assert!(
        invocation.reload_settings().unwrap_err()[0].0.ends_with("there is no such file; - in its place reads none")
    );
}

/// The gem's file for `ruby app.rb` is in a temporary folder.
#[test]
fn settings_of_a_script_are_beside_it_and_not_beside_the_file_that_the_gem_has_made() {
    let [folder, made] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let rackup = made.path().join("config.ru");
    fs::write(&rackup, "run {}").unwrap();
    fs::write(folder.path().join("foolsgold.toml"), "threads = 7\n").unwrap();
    let environment = vec![("FOOLSGOLD_APP_FOLDER".into(), folder.path().into())];
    let machine = Machine { cores: 2, has_quota: false, memory: None };
    let invocation = Invocation::new(vec![rackup.clone().into()], environment, machine);
    let hooks = folder.path().join("config/foolsgold.rb");
    fs::create_dir(folder.path().join("config")).unwrap();
    fs::write(&hooks, "").unwrap();
    let app = invocation.resolve(invocation.asked()).unwrap().apps.remove(0);
    assert_eq!(crate::config::rackup::hooks(app.ruby.hooks_folder(&rackup), None), Ok(Some(hooks)));
    assert_eq!((app.mruby.interpreters, app.restart_file), (7, Some(folder.path().join("tmp/restart.txt"))));
}

/// Root builds for all users, in any folder: code of the application's user must not be run as root, and an extension
/// can be built where that code fails.
#[test]
fn no_code_of_a_settings_file_is_run_to_build_an_extension() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let code = format!("File.write({ran:?}, ''); raise 'not on this machine'");
    for (name, text) in [("puma.rb", code.clone()), ("thin.yml", format!("port: <% {code} %>\n"))] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let arguments = vec!["native".into(), "-C".into(), file.into(), "--ruby".into(), "ruby".into()];
        let invocation = Invocation::new(arguments, Vec::new(), Machine { cores: 2, has_quota: false, memory: None });
        let asked = invocation.asked();
        assert_eq!((asked.problems, asked.compat), (Vec::new(), None), "{name}");
        assert!(!ran.exists(), "{name}");
    }
}
