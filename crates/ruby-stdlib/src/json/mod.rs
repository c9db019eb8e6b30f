//! JSON.generate and JSON.parse, with the options, messages and limits of Ruby's json library.
//!
//! Both go straight from bytes to bytes: data in which one array stands a million times, or a text of nothing but
//! brackets, would be many times larger as values in between, and nobody would count them.

mod number;
mod options;
mod read;
mod write;

use options::Options;
use ruby_native::{Arg, Context, Outcome, Value, arg};

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
