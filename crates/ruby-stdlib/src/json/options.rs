//! The options of JSON.generate and JSON.parse, and the limits of both.

use ruby_native::Tree;
use ruby_native::{Arg, Raise, raise};

/// As deep as either goes where nothing else is said, and as values can cross the border.
const NESTING_MAX: usize = 100;

/// After so many values it is asked whether there is still time.
pub const VALUES: usize = 20_000;

pub fn too_large() -> Raise {
    raise("NoMemoryError", "the JSON is larger than the interpreter's memory")
}

pub fn too_deep(depth: usize) -> Raise {
    raise("JSON::NestingError", format!("nesting of {depth} is too deep"))
}

/// The options of a call, which come as a Hash.
pub struct Options(Vec<(Tree, Tree)>);

impl Options {
    pub fn new(arg: Arg<'_>) -> Options {
        let Arg::Tree(bytes) = arg else { return Options(Vec::new()) };
        match Tree::decode(bytes) {
            Ok(Tree::Hash(pairs)) => Options(pairs),
            _ => Options(Vec::new()),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Tree> {
        let is = |key: &Tree| matches!(key, Tree::Str(text) | Tree::Sym(text) if text == name.as_bytes());
        self.0.iter().find(|(key, _)| is(key)).map(|(_, value)| value)
    }

    pub fn is_on(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Tree::Nil | Tree::Bool(false)))
    }

    pub fn text(&self, name: &str) -> Vec<u8> {
        match self.get(name) {
            Some(Tree::Str(text)) => text.clone(),
            _ => Vec::new(),
        }
    }

    /// How deep it stands in what is around it.
    pub fn depth(&self) -> usize {
        match self.get("depth") {
            Some(Tree::Int(depth)) => usize::try_from(*depth).unwrap_or(0),
            _ => 0,
        }
    }

    pub fn nesting(&self) -> usize {
        match self.get("max_nesting") {
            None => NESTING_MAX,
            // Below zero: nothing may be nested, as in Ruby's own library.
            Some(Tree::Int(depth)) if *depth != 0 => usize::try_from(*depth).unwrap_or(0),
            _ => usize::MAX,
        }
    }
}
