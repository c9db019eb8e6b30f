//! JSON.generate and JSON.parse, on serde_json, with the messages and limits of Ruby's json library.
//!
//! Both go straight from bytes to bytes: data in which one array stands a million times, or a text of nothing but
//! brackets, would be many times larger as values in between, and nobody would count them.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::{Arg, Context, Outcome, Raise, Value, arg, float, raise};
use crate::tree::{self, Reader, Token, Tree};

/// JSON.generate(object)
pub fn generate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    written(context, arg(args, 0), CompactFormatter)
}

/// JSON.pretty_generate(object)
pub fn pretty(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    written(context, arg(args, 0), PrettyFormatter::new())
}

fn written(context: &Context<'_>, value: Arg<'_>, form: impl Formatter) -> Outcome {
    let tree = value.tree();
    let mut writer = Writer { out: Vec::new(), form, bytes_max: context.shared.memory_bytes };
    writer.value(&mut Reader::new(&tree), 0)?;
    Ok(Value::Str(writer.out))
}

struct Writer<F> {
    out: Vec<u8>,
    form: F,
    bytes_max: usize,
}

fn too_large() -> Raise {
    raise("NoMemoryError", "the JSON is larger than the interpreter's memory")
}

impl<F: Formatter> Writer<F> {
    // Writing to memory cannot fail, so what the formatter returns says nothing.
    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), Raise> {
        let malformed = |error: tree::Malformed| raise("RuntimeError", error.to_string());
        if self.out.len() > self.bytes_max {
            return Err(too_large());
        }
        if depth > tree::DEPTH_MAX {
            return Err(malformed(tree::Malformed));
        }
        match reader.token().map_err(malformed)? {
            Token::Nil => self.out.extend_from_slice(b"null"),
            Token::Bool(value) => self.out.extend_from_slice(if value { b"true" } else { b"false" }),
            Token::Int(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            Token::Float(number) if number.is_finite() => self.out.extend_from_slice(float::print(number).as_bytes()),
            Token::Float(number) => {
                return Err(raise("JSON::GeneratorError", format!("{} not allowed in JSON", float::print(number))));
            }
            Token::Str(bytes) | Token::Sym(bytes) => self.text(bytes)?,
            Token::Raw(bytes) => self.out.extend_from_slice(bytes),
            Token::Array(0) => self.out.extend_from_slice(b"[]"),
            Token::Hash(0) => self.out.extend_from_slice(b"{}"),
            Token::Array(count) => {
                let _ = self.form.begin_array(&mut self.out);
                for index in 0..count {
                    let _ = self.form.begin_array_value(&mut self.out, index == 0);
                    self.value(reader, depth + 1)?;
                    let _ = self.form.end_array_value(&mut self.out);
                }
                let _ = self.form.end_array(&mut self.out);
            }
            Token::Hash(count) => {
                let _ = self.form.begin_object(&mut self.out);
                for index in 0..count {
                    let _ = self.form.begin_object_key(&mut self.out, index == 0);
                    self.value(reader, depth + 1)?;
                    let _ = self.form.end_object_key(&mut self.out);
                    let _ = self.form.begin_object_value(&mut self.out);
                    self.value(reader, depth + 1)?;
                    let _ = self.form.end_object_value(&mut self.out);
                }
                let _ = self.form.end_object(&mut self.out);
            }
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<(), Raise> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(raise("JSON::GeneratorError", "source sequence is illegal/malformed utf-8"));
        };
        serde_json::to_writer(&mut self.out, text).map_err(|error| raise("JSON::GeneratorError", error.to_string()))
    }
}

/// JSON.parse(text, symbolize)
pub fn parse(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut out = Vec::new();
    let bytes_max = context.shared.memory_bytes;
    let mut source = serde_json::Deserializer::from_slice(arg(args, 0).bytes()?);
    let into = Into { out: &mut out, symbolize: arg(args, 1).truthy(), bytes_max };
    let parsed = into.deserialize(&mut source).and_then(|()| source.end());
    match parsed {
        Ok(()) => Ok(Value::Tree(out)),
        Err(_) if out.len() > bytes_max => Err(too_large()),
        Err(error) => Err(raise("JSON::ParserError", format!("invalid JSON: {error}"))),
    }
}

/// Writes what is parsed as the bytes of a tree.
struct Into<'a> {
    out: &'a mut Vec<u8>,
    symbolize: bool,
    bytes_max: usize,
}

impl Into<'_> {
    fn put(self, tree: &Tree) {
        tree.encode(self.out);
    }

    /// The same, for a part.
    fn part(&mut self) -> Into<'_> {
        Into { out: self.out, symbolize: self.symbolize, bytes_max: self.bytes_max }
    }

    /// Begins an array or hash whose length is not known yet; the place where it goes.
    fn open(&mut self, tag: u8) -> usize {
        self.out.push(tag);
        self.out.extend_from_slice(&[0; 4]);
        self.out.len() - 4
    }

    fn close<E: Error>(self, place: usize, count: u32) -> Result<(), E> {
        self.out[place..place + 4].copy_from_slice(&count.to_le_bytes());
        if self.out.len() > self.bytes_max { Err(E::custom("it is too large")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.put(&Tree::Nil);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.put(&Tree::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.put(&Tree::Int(number));
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        let small = i64::try_from(number).map(Tree::Int);
        self.put(&small.unwrap_or_else(|_| Tree::Raw(number.to_string().into_bytes())));
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.put(&Tree::Float(number));
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.put(&Tree::Str(text.into()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let place = self.open(b'a');
        let mut count = 0;
        while items.next_element_seed(self.part())?.is_some() {
            count += 1;
            if self.out.len() > self.bytes_max {
                break;
            }
        }
        self.close(place, count)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<(), A::Error> {
        let place = self.open(b'h');
        let mut count = 0;
        while let Some(name) = pairs.next_key::<String>()? {
            let (name, symbolize) = (name.into_bytes(), self.symbolize);
            self.part().put(&if symbolize { Tree::Sym(name) } else { Tree::Str(name) });
            pairs.next_value_seed(self.part())?;
            count += 1;
            if self.out.len() > self.bytes_max {
                break;
            }
        }
        self.close(place, count)
    }
}
