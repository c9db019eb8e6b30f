//! The directives of a configuration in Ruby, or YAML with ERB: the user's Ruby evaluates it and reports them.

use std::path::Path;
use std::sync::Arc;

use engine_ruby::Evaluated;
use engine_ruby::reader::{self, Question, ReadError, WaitingProcess};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

/// A directive or key with its arguments.
#[derive(Debug, Clone, Deserialize)]
pub struct Directive {
    pub name: String,
    pub line: Option<usize>,
    /// Set if it is in another file, which the first one evaluates.
    pub file: Option<String>,
    pub args: Vec<Value>,
    pub written: String,
}

/// The directives of a file, as far as it was read.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub calls: Vec<Directive>,
    pub error: Option<EvaluationError>,
    /// The variable for the application's environment that the file has set, with its value.
    #[serde(default)]
    pub environment: Option<(String, String)>,
    bundler: String,
    stays: bool,
    changes_user: bool,
}

/// Why a file could not be read to its end.
#[derive(Debug, Deserialize)]
pub struct EvaluationError {
    class: String,
    message: String,
    line: Option<usize>,
    /// The directive that the server does not have, if that is the reason.
    #[serde(default)]
    pub call: Option<Directive>,
}

impl EvaluationError {
    /// The error as text; `shown` is the file's name.
    pub fn in_words(&self, shown: &str) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{shown}{line}: {}: {}", self.class, self.message.trim_end())
    }
}

/// Evaluates the file. The process that does so exits, unless it is to become the mold. Where its Ruby cannot fork,
/// each worker evaluates the file again.
pub fn read(question: &Question<'_>, kind: &'static str) -> Result<(Record, Option<Evaluated>), ReadError> {
    let (line, waiting) = reader::read(question)?;
    let record: Record = serde_json::from_slice(&line)
        .map_err(|error| ReadError::Other(format!("Ruby's answer has no meaning: {error}")))?;
    let waiting = if record.stays {
        Some(waiting)
    } else {
        waiting.dismiss();
        None
    };
    let evaluated = question.stays.then(|| evaluated(question, kind, &record, waiting));
    Ok((record, evaluated))
}

fn evaluated(
    question: &Question<'_>,
    kind: &'static str,
    record: &Record,
    waiting: Option<WaitingProcess>,
) -> Evaluated {
    Evaluated {
        path: question.path.canonicalize().unwrap_or_else(|_| question.path.to_owned()),
        kind,
        ruby: question.ruby.to_owned(),
        // Not the name in the record, which is text, since a path need not be UTF-8.
        gemfile: question.gemfile.filter(|_| !record.bundler.is_empty()).map(Path::to_owned),
        overriding: question.overriding.clone(),
        changes_user: record.changes_user,
        waiting: Arc::new(Mutex::new(waiting)),
    }
}
