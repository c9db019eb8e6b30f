//! JSON.generate and JSON.parse, with the options, messages and limits of Ruby's json library.
//!
//! Both convert bytes to bytes without values in between: an array that occurs a million times in the data, or a text
//! of nothing but brackets, would take many times more memory as values, outside of the interpreter's limit.

mod number;
mod options;
mod read;
mod write;

use options::Options;
use ruby_native::{Arg, Context, Outcome, Value, arg};

/// `json_generate(object, options or nil)`: the object as JSON text.
pub fn generate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let tree = arg(args, 0).tree();
    write::write(&tree, &Options::new(arg(args, 1)), context).map(Value::Str)
}

/// `json_parse(text, options or nil)`: the value of a JSON text.
pub fn parse(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let options = Options::new(arg(args, 1));
    read::read(arg(args, 0).bytes()?, &options, context).map(Value::Tree)
}
