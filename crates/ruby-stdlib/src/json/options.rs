//! The options of JSON.generate and JSON.parse, and the limits of both.

use ruby_native::{Arg, Raise, Tree, raise};

/// Levels of nesting where `max_nesting` is not given, as in Ruby's json library.
const NESTING_MAX: usize = 100;

/// Values between two checks of the request's deadline.
pub const VALUES: usize = 20_000;

/// The exception for JSON that is larger than the interpreter's memory limit.
pub fn too_large() -> Raise {
    raise("NoMemoryError", "the JSON is larger than the interpreter's memory")
}

/// The exception for a value at `depth` levels of nesting, which is more than allowed.
pub fn too_deep(depth: usize) -> Raise {
    raise("JSON::NestingError", format!("nesting of {depth} is too deep"))
}

/// The options of a call, which come as a Hash.
pub struct Options(Vec<(Tree, Tree)>);

impl Options {
    /// The options of a Hash argument; none where the argument is no Hash.
    pub fn new(arg: Arg<'_>) -> Options {
        let Arg::Tree(bytes) = arg else { return Options(Vec::new()) };
        match Tree::decode(bytes) {
            Ok(Tree::Hash(pairs)) => Options(pairs),
            _ => Options(Vec::new()),
        }
    }

    /// The value of an option, given by Symbol or String.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        let is = |key: &Tree| matches!(key, Tree::Str(text) | Tree::Sym(text) if text == name.as_bytes());
        self.0.iter().find(|(key, _)| is(key)).map(|(_, value)| value)
    }

    /// Whether an option is given and neither nil nor false.
    pub fn is_on(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Tree::Nil | Tree::Bool(false)))
    }

    /// The String of an option; empty where it is none.
    pub fn text(&self, name: &str) -> Vec<u8> {
        match self.get(name) {
            Some(Tree::Str(text)) => text.clone(),
            _ => Vec::new(),
        }
    }

    /// Levels of nesting around the value: for a `to_json` that is called while another value is generated.
    pub fn depth(&self) -> usize {
        match self.get("depth") {
            Some(Tree::Int(depth)) => usize::try_from(*depth).unwrap_or(0),
            _ => 0,
        }
    }

    /// Levels of nesting that `max_nesting` allows; nil and 0 mean no limit.
    pub fn nesting(&self) -> usize {
        match self.get("max_nesting") {
            None => NESTING_MAX,
            // A negative limit allows no nesting at all, as in Ruby's json library.
            Some(Tree::Int(depth)) if *depth != 0 => usize::try_from(*depth).unwrap_or(0),
            _ => usize::MAX,
        }
    }
}
