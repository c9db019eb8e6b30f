//! What a configuration says that is Ruby, or YAML with Ruby in it: the user's Ruby evaluates it and tells.

use std::path::Path;
use std::sync::Arc;

use engine_ruby::Evaluated;
use engine_ruby::reader::{self, Question, Waiting};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

/// One directive, or one key, with what it is given.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    pub name: String,
    pub line: Option<usize>,
    /// Another one than the file itself where that evaluates it.
    pub file: Option<String>,
    pub args: Vec<Value>,
    pub written: String,
}

/// What a file says, as far as it was read.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub calls: Vec<Call>,
    pub error: Option<Failure>,
    /// The variable that the file has changed, with its value, of those that name the application's environment.
    #[serde(default)]
    pub environment: Option<(String, String)>,
    bundler: String,
    stays: bool,
    changes_user: bool,
}

/// Why it could not be read to its end.
#[derive(Debug, Deserialize)]
pub struct Failure {
    class: String,
    message: String,
    line: Option<usize>,
    /// The directive that the server does not have, if that is why.
    #[serde(default)]
    pub call: Option<Call>,
}

impl Failure {
    /// Of a file with this name.
    pub fn in_words(&self, shown: &str) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{shown}{line}: {}: {}", self.class, self.message.trim_end())
    }
}

/// Evaluates the file; nothing is left of the process that did it unless it is to go on as a mold.
pub fn read(question: &Question<'_>, kind: &'static str) -> Result<(Record, Option<Evaluated>), String> {
    let (line, waiting) = reader::read(question)?;
    let record: Record =
        serde_json::from_slice(&line).map_err(|error| format!("Ruby's answer has no meaning: {error}"))?;
    if !record.stays {
        waiting.dismiss();
        return Ok((record, None));
    }
    let evaluated = evaluated(question, kind, &record, waiting);
    Ok((record, Some(evaluated)))
}

fn evaluated(question: &Question<'_>, kind: &'static str, record: &Record, waiting: Waiting) -> Evaluated {
    Evaluated {
        path: question.path.canonicalize().unwrap_or_else(|_| question.path.to_owned()),
        kind,
        ruby: question.ruby.to_owned(),
        // Not by the name in the record, which is text: a path need not be.
        gemfile: question.gemfile.filter(|_| !record.bundler.is_empty()).map(Path::to_owned),
        changes_user: record.changes_user,
        waiting: Arc::new(Mutex::new(Some(waiting))),
    }
}
