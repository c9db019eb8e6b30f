//! The YAML parser: from text to the events of which Ruby's own psych builds values.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use ruby_native::tree::{Tree, count};
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Events between two checks of the request's deadline.
const EVENTS: usize = 5_000;

/// `yaml_events(text)`: an Array with an Array for each event: line and column of its begin and end, the name of the
/// handler's method, and the arguments. The last event is `error` where the text is not valid YAML.
pub fn events(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).bytes()?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(raise("ArgumentError", "the YAML is not UTF-8"));
    };
    let mut list = List { out: Vec::new(), count: 0 };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => {
                // No event says whether a document ends with `...`; the length of its last event does.
                let ends = span.end.index() > span.start.index();
                let Some((name, arguments)) = described(event, ends) else { continue };
                list.push(span.start, span.end, name, arguments);
            }
            Err(error) => {
                let what = error.info().as_bytes().to_vec();
                let at = *error.marker();
                list.push(at, at, "error", vec![Tree::Int(at.index() as i64), Tree::Str(what)]);
                break;
            }
        }
        if list.count.is_multiple_of(EVENTS) {
            context.tick()?;
        }
        if list.out.len() > context.memory_bytes {
            return Err(too_large());
        }
    }
    let mut all = Vec::with_capacity(list.out.len() + 8);
    count(&mut all, b'a', list.count);
    all.extend_from_slice(&list.out);
    Ok(Value::Tree(all))
}

fn too_large() -> Raise {
    raise("NoMemoryError", "the YAML is larger than the interpreter's memory")
}

struct List {
    out: Vec<u8>,
    count: usize,
}

impl List {
    fn push(&mut self, start: Marker, end: Marker, name: &str, arguments: Vec<Tree>) {
        let line = |mark: Marker| Tree::Int(mark.line().saturating_sub(1) as i64);
        let column = |mark: Marker| Tree::Int(mark.col() as i64);
        let mut event = vec![line(start), column(start), line(end), column(end), Tree::Sym(name.into())];
        event.extend(arguments);
        Tree::Array(event).encode(&mut self.out);
        self.count += 1;
    }
}

/// The method of psych's handler for an event, and its arguments as libyaml would pass them; None for an event without
/// one. `ends` is whether the text has the end of a document (`...`).
fn described(event: Event<'_>, ends: bool) -> Option<(&'static str, Vec<Tree>)> {
    Some(match event {
        Event::Nothing => return None,
        Event::StreamStart => ("start_stream", vec![Tree::Int(1)]),
        Event::StreamEnd => ("end_stream", vec![]),
        Event::DocumentStart(begun) => {
            ("start_document", vec![Tree::Array(vec![]), Tree::Array(vec![]), Tree::Bool(!begun)])
        }
        Event::DocumentEnd => ("end_document", vec![Tree::Bool(!ends)]),
        Event::Alias(anchor) => ("alias", vec![anchored(anchor)]),
        Event::Scalar(value, style, anchor, tag) => {
            let is_plain = style == ScalarStyle::Plain;
            let tag = named(tag.as_deref());
            let implied = tag == Tree::Nil;
            let style = match style {
                ScalarStyle::Plain => 1,
                ScalarStyle::SingleQuoted => 2,
                ScalarStyle::DoubleQuoted => 3,
                ScalarStyle::Literal => 4,
                ScalarStyle::Folded => 5,
            };
            let value = Tree::Str(value.as_bytes().to_vec());
            let plain = Tree::Bool(implied && is_plain);
            let quoted = Tree::Bool(implied && !is_plain);
            ("scalar", vec![value, anchored(anchor), tag, plain, quoted, Tree::Int(style)])
        }
        Event::SequenceStart(anchor, tag) => ("start_sequence", collection(anchor, tag.as_deref())),
        Event::MappingStart(anchor, tag) => ("start_mapping", collection(anchor, tag.as_deref())),
        Event::SequenceEnd => ("end_sequence", vec![]),
        Event::MappingEnd => ("end_mapping", vec![]),
    })
}

/// The arguments of a sequence or mapping. No event says whether it is in flow style (brackets): all get block style.
fn collection(anchor: usize, tag: Option<&Tag>) -> Vec<Tree> {
    let tag = named(tag);
    let implied = Tree::Bool(tag == Tree::Nil);
    vec![anchored(anchor), tag, implied, Tree::Int(1)]
}

/// The name of an anchor, for which its number stands; nil for none.
fn anchored(number: usize) -> Tree {
    if number == 0 { Tree::Nil } else { Tree::Str(number.to_string().into_bytes()) }
}

/// The text of a tag; nil for none and for `!` alone, which psych ignores.
fn named(tag: Option<&Tag>) -> Tree {
    let text = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix)).filter(|text| text != "!");
    text.map_or(Tree::Nil, |text| Tree::Str(text.into_bytes()))
}
