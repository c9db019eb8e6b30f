//! Applications in temporary folders, and what each is found to lack.

use std::time::{Duration, Instant};

use super::*;

fn found(files: &[(&str, &str)]) -> Requirements {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let provides = |name: &str| ["json", "set"].contains(&name);
    look(&folder.path().join("config.ru"), &provides)
}

fn looked(files: &[(&str, &str)]) -> Option<String> {
    found(files).unmet.map(|unmet| unmet.to_string())
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
fn what_is_not_required_at_all_does_not_count() {
    for text in [
        "",
        "require \"json\"",
        "# require \"roda\"",
        "required \"roda\"",
        "  require \"json\" if it",
        "require \"./not/there\"",
        "require_relative \"not/there\"",
        "=begin\nrequire \"roda\"\n=end\n",
        "run 1\n__END__\nrequire \"roda\"\n",
        "TEXT = <<~RUBY\nrequire \"roda\"\nRUBY\n",
        "page(<<-'TEXT')\nrequire \"roda\"\n  TEXT\n",
        "page(<<A, <<B)\nrequire \"roda\"\nA\nfork { 1 }\nB\n",
        "list << <<A\nrequire \"roda\"\nA\n",
    ] {
        assert_eq!(found(&[("config.ru", text)]), Requirements::default(), "{text}");
    }
}

#[test]
fn what_may_be_required_or_is_computed_is_a_doubt() {
    for (text, doubt) in [
        ("  require \"roda\"", "config.ru may require \"roda\" (config.ru:1)"),
        ("\nrequire \"roda\" if false", "config.ru may require \"roda\" (config.ru:2)"),
        ("require \"roda\" rescue nil", "config.ru may require \"roda\" (config.ru:1)"),
        ("require \"roda/#{kind}\"", "config.ru requires what is not known before it runs (config.ru:1)"),
        ("require \"roda\" + kind", "config.ru requires what is not known before it runs (config.ru:1)"),
        ("require File.join(__dir__, 'gone')", "config.ru requires what is not known before it runs (config.ru:1)"),
        ("if it\n  require_relative 'lib/part'\nend", "lib/part.rb may require \"pg\" (lib/part.rb:1)"),
        ("load 'bin/part'", "bin/part may require \"pg\" (bin/part:1)"),
    ] {
        let found = found(&[("config.ru", text), ("lib/part.rb", "require 'pg'"), ("bin/part", "require 'pg'")]);
        assert_eq!((found.unmet, found.doubt.as_deref()), (None, Some(doubt)), "{text}");
    }
}

#[test]
fn what_is_written_for_the_embedded_engine_is_no_doubt() {
    for (text, is_doubt) in [
        ("FoolsGold.store\nrun ->(_) { [200, {}, [GC.stat.to_s]] }", false),
        ("run ->(_) { [200, {}, [GC.stat.to_s]] } # FoolsGold", true),
        ("kept = defined?(FoolsGold) ? FoolsGold.store : {}\nfork { kept }", true),
    ] {
        assert_eq!(found(&[("config.ru", text)]).doubt.is_some(), is_doubt, "{text}");
    }
}

#[test]
fn computed_paths_of_the_usual_kinds_are_followed() {
    for line in [
        "require File.expand_path('../lib/app', __FILE__)",
        "require File.expand_path('lib/app', __dir__)",
        "require File.join(File.dirname(__FILE__), 'lib', 'app')",
        "require \"#{__dir__}/lib/app\"",
        "require_relative File.join('lib', 'app')",
        "load File.expand_path(\"../lib/app.rb\", __FILE__)",
    ] {
        let config = format!("$:.unshift File.expand_path('../lib', __FILE__)\n{line}\n");
        assert_eq!(
            found(&[("config.ru", &config), ("lib/app.rb", "require 'set'")]),
            Requirements::default(),
            "{line}"
        );
        let found = found(&[("config.ru", &config), ("lib/app.rb", "require 'roda'")]);
        let reason = found.unmet.map(|unmet| unmet.to_string()).or(found.doubt).unwrap();
        let word = if line.starts_with("require") { "requires" } else { "may require" };
        assert_eq!(reason, format!("lib/app.rb {word} \"roda\" (lib/app.rb:1)"), "{line}");
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
    let found = found(&all);
    assert_eq!(found.unmet, None);
    assert_eq!(found.doubt.as_deref(), Some("f199.rb is more than is looked through"));
}

#[test]
fn no_file_takes_long_to_look_through() {
    let began = Instant::now();
    let openings = "1<<B,\n".repeat(90_000);
    assert_eq!(code(&openings).len(), 90_000);
    let calls = "load a ".repeat(140_000);
    assert!(found(&[("config.ru", &calls)]).doubt.is_some());
    assert_eq!(code(&"<<A ".repeat(250_000)).len(), 1);
    let folders: String = (0..20_000).map(|number| format!("$: << 'lib{number}'\n")).collect();
    let config = folders + &"require 'json'\n".repeat(30_000);
    assert_eq!(looked(&[("config.ru", &config)]), None);
    // Without the limits, each of them takes minutes.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
