//! require, autoload, and gems in a folder beside the application.

use crate::support::{settings, try_files};

/// Starts an application of several files. Returns its response to `/`, or the error with which it did not load.
fn answer(files: &[(&str, &str)]) -> Result<String, String> {
    Ok(try_files(files, settings()).map_err(|error| error.to_string())?.body("/"))
}

fn shows(value: &str) -> String {
    format!("run ->(env) {{ [200, {{}}, [({value}).inspect]] }}")
}

#[test]
fn gems_are_found_in_vendor_and_their_files_require_each_other() {
    let config = format!("require 'tiny'\n{}", shows("[Tiny.hello, $LOAD_PATH.map { |p| p.split('/').last(2) }]"));
    for folder in ["vendor/tiny-1.0.0", "vendor/gems/tiny-1.0.0", "vendor/bundle/ruby/3.3.0/gems/tiny-1.0.0"] {
        let (main, part) = (format!("{folder}/lib/tiny.rb"), format!("{folder}/lib/tiny/part.rb"));
        let files = [
            ("config.ru", config.as_str()),
            (&main, "require 'tiny/part'\nmodule Tiny; def self.hello = Part::WORD; end"),
            (&part, "module Tiny; module Part; WORD = 'hello'; end; end"),
        ];
        assert_eq!(answer(&files).unwrap(), "[\"hello\", [[\"tiny-1.0.0\", \"lib\"]]]", "{folder}");
    }
}

#[test]
fn the_newest_gem_counts_unless_a_lock_file_names_another() {
    let config = format!("require 'tiny'\n{}", shows("TINY"));
    let mut files = vec![
        ("config.ru", config.as_str()),
        ("vendor/tiny-1.9.0/lib/tiny.rb", "TINY = '1.9.0'"),
        ("vendor/tiny-1.10.0/lib/tiny.rb", "TINY = '1.10.0'"),
    ];
    assert_eq!(answer(&files).unwrap(), "\"1.10.0\"");
    let lock = "GEM\n  remote: x\n  specs:\n    tiny (1.9.0)\n      other (~> 1)\n\nDEPENDENCIES\n  tiny\n";
    files.push(("Gemfile.lock", lock));
    assert_eq!(answer(&files).unwrap(), "\"1.9.0\"");
}

#[test]
fn bundler_requires_what_the_gemfile_names() {
    let gemfile = "source 'https://x'\ngem 'tiny', '~> 1'\ngem 'dash-ed'\ngem 'quiet', require: false\n\
                   group :test do\n  gem 'absent'\nend\n";
    let shown = shows("[TINY, DASHED, defined?(QUIET), Bundler.root.join('Gemfile').file?]");
    let config = format!("require 'bundler/setup'\nBundler.require(:default)\n{shown}");
    let files = [
        ("config.ru", config.as_str()),
        ("Gemfile", gemfile),
        ("vendor/tiny-1.0.0/lib/tiny.rb", "TINY = 1"),
        ("vendor/dash-ed-0.1.0/lib/dash/ed.rb", "DASHED = 2"),
        ("vendor/quiet-0.1.0/lib/quiet.rb", "QUIET = 3"),
    ];
    assert_eq!(answer(&files).unwrap(), "[1, 2, nil, true]");
}

#[test]
fn a_gem_made_of_c_says_so_and_a_missing_one_names_what_there_is() {
    let config = format!("require 'fast'\n{}", shows("1"));
    let files = [("config.ru", config.as_str()), ("vendor/fast-2.0.0/lib/fast.so", "\x7fELF")];
    let said = answer(&files).unwrap_err();
    assert!(said.contains("is a C extension, which only CRuby can load"), "{said}");
    let config = format!("require 'nope'\n{}", shows("1"));
    let files = [("config.ru", config.as_str()), ("vendor/tiny-1.0.0/lib/tiny.rb", "")];
    let said = answer(&files).unwrap_err();
    assert!(said.contains("cannot load such file -- nope") && said.contains("tiny 1.0.0"), "{said}");
}

#[test]
fn a_gem_that_is_built_in_counts_as_installed() {
    let shown = shows("begin; gem 'nope'; rescue LoadError => error; error.class; end");
    let config = format!("BUILT_IN = [gem('redis', '~> 5'), gem('sqlite3'), gem('json'), gem('net-http')]\n{shown}");
    assert_eq!(answer(&[("config.ru", &config)]).unwrap(), "LoadError");
}

#[test]
fn a_constant_that_waits_is_loaded_when_it_is_named() {
    let config = format!(
        "$LOAD_PATH.unshift __dir__\nmodule Lazy\n  autoload :Part, 'part'\n  autoload :Gone, 'gone'\n\
         autoload :Bad, 'bad'\nclass Inner; def part = Part::WORD; end\nend\n\
         BEFORE = [defined?(Lazy::Part), Lazy.autoload?(:Part)]\n{}",
        shows(
            "[BEFORE, Lazy::Inner.new.part, Lazy.autoload?(:Part), (Lazy::Gone rescue $!.class), \
             (Lazy::Bad rescue $!.message), (Lazy::Bad rescue $!.message)]"
        )
    );
    let files = [
        ("config.ru", config.as_str()),
        ("part.rb", "module Lazy; class Part; WORD = 'late'; end; end"),
        ("gone.rb", ""),
        ("bad.rb", "raise 'broken'"),
    ];
    let expected = "[[\"constant\", \"part\"], \"late\", nil, NameError, \"broken\", \"broken\"]";
    assert_eq!(answer(&files).unwrap(), expected);
}

/// The class was there from then on, without the second half of its methods.
#[test]
fn a_constant_waits_again_where_its_file_raises_half_way() {
    let config = format!(
        "$LOAD_PATH.unshift __dir__\nTIMES = []\nmodule Lazy; autoload :Half, 'half'; end\n{}",
        shows("[(Lazy::Half.b rescue $!.message), Lazy::Half.b, TIMES.size]")
    );
    let half = "module Lazy; class Half; def self.a = 1; end; end\nTIMES << 1\nraise 'early' if TIMES.size == 1\n\
                module Lazy; class Half; def self.b = 2; end; end";
    assert_eq!(answer(&[("config.ru", &config), ("half.rb", half)]).unwrap(), "[\"early\", 2, 2]");
}

#[test]
fn a_class_that_waits_is_opened_by_its_own_file_or_another() {
    let config = format!(
        "$LOAD_PATH.unshift __dir__\nmodule Lazy; autoload :A, 'a'; autoload :B, 'b'; end\nrequire 'a'\n\
         module Lazy; class B; def more = 2; end; end\n{}",
        shows("[Lazy::A.new.a, Lazy::B.new.b, Lazy::B.new.more]")
    );
    let files = [
        ("config.ru", config.as_str()),
        ("a.rb", "module Lazy; class A; def a = 1; end; end"),
        ("b.rb", "module Lazy; class B; def b = 1; end; end"),
    ];
    assert_eq!(answer(&files).unwrap(), "[1, 1, 2]");
}

#[test]
fn evaluated_text_keeps_its_file_and_line() {
    let config = "class Made\n  class_eval <<-RUBY, __FILE__, __LINE__ + 1\n  def broken\n    raise 'here'\n  end\n\
                  RUBY\nend\nrun ->(env) { [200, {}, [(Made.new.broken rescue $!.backtrace.first.split('/').last)]] }";
    let said = answer(&[("config.ru", config)]).unwrap();
    assert!(said.starts_with("config.ru:4:in broken"), "{said}");
}

#[test]
fn a_file_that_does_not_parse_says_what_else_it_could_be() {
    let said = answer(&[("config.ru", "require_relative 'a'\n"), ("a.rb", "BEGIN { A = 1 }\n")]).unwrap_err();
    assert!(said.contains("SyntaxError") && said.contains("a.rb:1"), "{said}");
    assert!(said.contains("docs/writing-apps.md, or run with --engine ruby"), "{said}");
}

#[test]
fn a_file_is_among_the_loaded_features_when_it_has_been_loaded() {
    let config = format!("require 'outer'\n{}", shows("[OUTER, NAMES, require('outer')]"));
    let files = [
        ("config.ru", config.as_str()),
        ("vendor/tiny-1.0.0/lib/outer.rb", "require 'shellwords'\nOUTER = $LOADED_FEATURES.last\nrequire 'inner'"),
        (
            "vendor/tiny-1.0.0/lib/inner.rb",
            "require 'outer'\nNAMES = $LOADED_FEATURES.map { |path| File.basename(path) }.grep(/er.rb/)",
        ),
    ];
    assert_eq!(answer(&files).unwrap(), "[\"<ruby>/shellwords.rb\", [], false]");
}

/// It counted as loaded, and its constants were missing from then on.
#[test]
fn a_library_whose_loading_was_broken_off_can_be_required_again() {
    let config = format!(
        "Prime = 1\nFIRST = begin; require 'prime'; rescue TypeError => error; error.class; end\n\
         Object.send(:remove_const, :Prime)\n{}",
        shows("[FIRST, require('prime'), require('prime'), Prime.first(3)]")
    );
    assert_eq!(answer(&[("config.ru", &config)]).unwrap(), "[TypeError, true, false, [2, 3, 5]]");
}

#[test]
fn the_gem_rack_is_there_as_soon_as_something_of_it_is_named() {
    let rack = "module Rack; class Head; end; autoload :Late, 'rack/late'; end";
    let config = shows("[Rack::Head, Rack::Late, (Rack::Nothing rescue $!.message)]");
    let files = [
        ("config.ru", config.as_str()),
        ("vendor/rack-3.9.0/lib/rack.rb", rack),
        ("vendor/rack-3.9.0/lib/rack/late.rb", "module Rack; class Late; end; end"),
    ];
    assert_eq!(answer(&files).unwrap(), "[Rack::Head, Rack::Late, \"uninitialized constant Rack::Nothing\"]");
    let alone = shows("(Rack::Nothing rescue $!.message)");
    assert_eq!(answer(&[("config.ru", &alone)]).unwrap(), "\"uninitialized constant Rack::Nothing\"");
}

#[test]
fn a_gem_that_picks_its_locks_by_the_engine_gets_those_of_cruby() {
    let config = format!("require 'concurrent/utility/engine'\n{}", shows("[Concurrent.engine, RUBY_ENGINE]"));
    let files = [
        ("config.ru", config.as_str()),
        (
            "vendor/concurrent-ruby-1.0.0/lib/concurrent/utility/engine.rb",
            "module Concurrent; def self.engine = RUBY_ENGINE; end",
        ),
    ];
    assert_eq!(answer(&files).unwrap(), "[\"ruby\", \"mruby\"]");
}
