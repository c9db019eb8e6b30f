//! Unchanged gems on the embedded interpreter: Rack, and Roda where the machine's Ruby has it. GEM_PATH adds folders to
//! search: `GEM_PATH=folder cargo test -p engine-mruby --test inside frameworks::`.

use std::process::Command;

use crate::support::{app, get};

/// The `lib` folders of gems, if the machine's Ruby finds all of them.
fn gems(names: &[&str]) -> Option<Vec<String>> {
    let find = "ARGV.each { |name| puts Gem::Specification.find_by_name(name).full_require_paths }";
    let output = Command::new("ruby").arg("-e").arg(find).args(names).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprintln!("not tested: this machine's Ruby does not have {}", names.join(" and "));
    }
    output.status.success().then(|| text.lines().map(str::to_owned).collect())
}

/// Status and body of each path.
fn answers(folders: &[String], config: &str, paths: &[&str]) -> Vec<(u16, String)> {
    let load_path: Vec<String> = folders.iter().map(|folder| format!("{folder:?}")).collect();
    let app = app(&format!("$LOAD_PATH.push({})\n{config}", load_path.join(", ")));
    let answer = |path: &&str| {
        let got = app.got(get(path));
        (got.status, got.body)
    };
    paths.iter().map(answer).collect()
}

#[test]
fn rack_s_own_files_load_and_answer() {
    let Some(folders) = gems(&["rack"]) else { return };
    let config = "require 'rack'\nrun ->(env) do\n  request = Rack::Request.new(env)\n\
                  response = Rack::Response.new\n  shown = [request.path, request.params, request.get?]\n\
                  response.write(shown.inspect)\n  response.finish\nend";
    assert_eq!(
        answers(&folders, config, &["/a?b=1&c[]=2&c[]=3&d[e]=%20x"]),
        [(200, "[\"/a\", {\"b\"=>\"1\", \"c\"=>[\"2\", \"3\"], \"d\"=>{\"e\"=>\" x\"}}, true]".to_owned())]
    );
}

#[test]
fn a_roda_application_answers() {
    let Some(folders) = gems(&["rack", "roda"]) else { return };
    let config = r##"
require "roda"
class App < Roda
  plugin :json
  plugin :halt
  plugin :all_verbs
  route do |r|
    r.root { "hello" }
    r.on "users", Integer do |id|
      r.is("name") { r.get { "user #{id}" } }
      r.get { { "id" => id, "q" => r.params["q"] } }
    end
    r.get("go") { r.redirect "/users/1" }
    r.get("stop") { r.halt 418, "teapot" }
    r.get(String) { |word| word.upcase }
  end
end
run App.freeze.app
"##;
    let paths = ["/", "/users/7?q=z", "/users/7/name", "/go", "/stop", "/word", "/no/such"];
    let expected = [
        (200, "hello"),
        (200, "{\"id\":7,\"q\":\"z\"}"),
        (200, "user 7"),
        (302, ""),
        (418, "teapot"),
        (200, "WORD"),
        (404, ""),
    ];
    assert_eq!(answers(&folders, config, &paths), expected.map(|(status, body)| (status, body.to_owned())));
}
