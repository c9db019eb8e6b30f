//! Applications in temporary folders, and the one thing each is found to lack.

use std::time::{Duration, Instant};

use super::*;

fn looked(files: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let provides = |name: &str| ["json", "set"].contains(&name);
    unmet(&folder.path().join("config.ru"), &provides).map(|unmet| unmet.to_string())
}

#[test]
fn what_is_required_for_certain_is_found() {
    for line in [
        "require \"roda\"",
        "require 'roda'",
        "require(\"roda\")",
        "require ( 'roda' ) # routes",
        "require\"roda\"",
        "\u{feff}require \"roda\"",
        "require \"json\"; require \"roda\"",
        "require \"json\"\r\nrequire \"roda\"\r",
    ] {
        let found = looked(&[("config.ru", line)]).unwrap_or_else(|| panic!("nothing in {line}"));
        assert!(found.starts_with("config.ru requires \"roda\" (config.ru:"), "{found}");
    }
}

#[test]
fn what_may_never_be_required_does_not_count() {
    for text in [
        "",
        "require \"json\"",
        "# require \"roda\"",
        "  require \"roda\"",
        "require \"roda\" if false",
        "require \"roda\" rescue nil",
        "require \"roda/#{kind}\"",
        "require \"roda\" + kind",
        "require name",
        "required \"roda\"",
        "require \"./not/there\"",
        "require_relative \"not/there\"",
        "=begin\nrequire \"roda\"\n=end\n",
        "run 1\n__END__\nrequire \"roda\"\n",
        "TEXT = <<~RUBY\nrequire \"roda\"\nRUBY\n",
        "page(<<-'TEXT')\nrequire \"roda\"\n  TEXT\n",
    ] {
        assert_eq!(looked(&[("config.ru", text)]), None, "{text}");
    }
}

#[test]
fn code_after_what_only_looks_like_a_here_document_counts() {
    let pushes = "list <<item\n# see <<~RUBY\nrequire \"roda\"\n";
    assert_eq!(looked(&[("config.ru", pushes)]).as_deref(), Some("config.ru requires \"roda\" (config.ru:3)"));
    let text = "x = <<~A\nhello\nA\nrequire \"roda\"\n";
    assert_eq!(looked(&[("config.ru", text)]).as_deref(), Some("config.ru requires \"roda\" (config.ru:4)"));
}

#[test]
fn files_of_the_application_are_followed_each_once() {
    let found = looked(&[
        ("config.ru", "require_relative \"lib/a\"\nrequire \"last\"\n"),
        ("lib/a.rb", "require_relative \"../lib/a\"\nrequire_relative \"b.rb\"\n"),
        ("lib/b.rb", "require \"set\"\nrequire \"./top\"\n"),
        ("top.rb", "\nrequire \"sequel\"\n"),
    ]);
    assert_eq!(found.as_deref(), Some("top.rb requires \"sequel\" (top.rb:2)"));
}

#[test]
fn the_load_path_of_the_application_is_honoured() {
    for line in [
        "$LOAD_PATH.unshift File.expand_path(\"lib\", __dir__)",
        "$:.unshift(File.dirname(__FILE__) + '/lib')",
        "$LOAD_PATH << \"#{__dir__}/lib\"",
    ] {
        let config = format!("{line}\nrequire \"mine\"\n");
        assert_eq!(looked(&[("config.ru", &config), ("lib/mine.rb", "require 'json'\n")]), None, "{line}");
        let found = looked(&[("config.ru", &config), ("lib/mine.rb", "require 'pg'\n")]);
        assert_eq!(found.as_deref(), Some("lib/mine.rb requires \"pg\" (lib/mine.rb:1)"), "{line}");
    }
}

#[test]
fn an_application_of_many_files_is_read_up_to_a_limit() {
    let files: Vec<(String, String)> =
        (0..300).map(|number| (format!("f{number}.rb"), format!("require_relative \"f{}\"\n", number + 1))).collect();
    let mut all: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    all.extend([("config.ru", "require_relative \"f0\"\n"), ("f300.rb", "require \"roda\"\n")]);
    assert_eq!(looked(&all), None);
}

#[test]
fn no_file_takes_long_to_look_through() {
    let began = Instant::now();
    let openings = "1<<B,\n".repeat(90_000);
    assert_eq!(code(&openings).len(), 90_000);
    let folders: String = (0..20_000).map(|number| format!("$: << 'lib{number}'\n")).collect();
    let config = folders + &"require 'json'\n".repeat(30_000);
    assert_eq!(looked(&[("config.ru", &config)]), None);
    // Without the bounds, each of them takes minutes.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
