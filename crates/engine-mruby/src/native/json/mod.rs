//! JSON.generate and JSON.parse, with the options, messages and limits of Ruby's json library.
//!
//! Both go straight from bytes to bytes: data in which one array stands a million times, or a text of nothing but
//! brackets, would be many times larger as values in between, and nobody would count them.

mod number;
mod read;
mod write;

use super::{Arg, Context, Outcome, Raise, Value, arg, raise};
use crate::tree::Tree;

/// As deep as either goes where nothing else is said, and as values can cross the border.
const NESTING_MAX: usize = 100;

/// After so many values it is asked whether there is still time.
const VALUES: usize = 20_000;

fn too_large() -> Raise {
    raise("NoMemoryError", "the JSON is larger than the interpreter's memory")
}

fn too_deep(depth: usize) -> Raise {
    raise("JSON::NestingError", format!("nesting of {depth} is too deep"))
}

/// The options of a call, which come as a Hash.
struct Options(Vec<(Tree, Tree)>);

impl Options {
    fn new(arg: Arg<'_>) -> Options {
        let Arg::Tree(bytes) = arg else { return Options(Vec::new()) };
        match Tree::decode(bytes) {
            Ok(Tree::Hash(pairs)) => Options(pairs),
            _ => Options(Vec::new()),
        }
    }

    fn get(&self, name: &str) -> Option<&Tree> {
        let is = |key: &Tree| matches!(key, Tree::Str(text) | Tree::Sym(text) if text == name.as_bytes());
        self.0.iter().find(|(key, _)| is(key)).map(|(_, value)| value)
    }

    fn is_on(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Tree::Nil | Tree::Bool(false)))
    }

    fn text(&self, name: &str) -> Vec<u8> {
        match self.get(name) {
            Some(Tree::Str(text)) => text.clone(),
            _ => Vec::new(),
        }
    }

    /// How deep it stands in what is around it.
    fn depth(&self) -> usize {
        match self.get("depth") {
            Some(Tree::Int(depth)) => usize::try_from(*depth).unwrap_or(0),
            _ => 0,
        }
    }

    fn nesting(&self) -> usize {
        match self.get("max_nesting") {
            None => NESTING_MAX,
            // Below zero: nothing may be nested, as in Ruby's own library.
            Some(Tree::Int(depth)) if *depth != 0 => usize::try_from(*depth).unwrap_or(0),
            _ => usize::MAX,
        }
    }
}

/// json_generate(object, options or nil)
pub fn generate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let tree = arg(args, 0).tree();
    write::write(&tree, &Options::new(arg(args, 1)), context).map(Value::Str)
}

/// json_parse(text, options or nil)
pub fn parse(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let options = Options::new(arg(args, 1));
    read::read(arg(args, 0).bytes()?, &options, context).map(Value::Tree)
}
