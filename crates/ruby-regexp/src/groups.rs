//! Parsing of parentheses: groups, look-around, options and conditions.

use super::charset::Letters;
use super::parser::{Parser, Target, Wrong};
use super::syntax::{Lookaround, Node};

impl Parser {
    /// Parses a group of any kind behind `(`.
    pub(super) fn group(&mut self) -> Wrong<Node> {
        if self.peek() != Some('?') {
            return self.plain_group();
        }
        self.at += 1;
        let Some(c) = self.next() else { return Err("end pattern in group".into()) };
        match c {
            ':' => self.inside(),
            '=' => self.look(Lookaround::Ahead),
            '!' => self.look(Lookaround::NotAhead),
            '>' => self.inside().map(|node| Node::Atomic(Box::new(node))),
            '<' if self.take("=") => self.look(Lookaround::Behind),
            '<' if self.take("!") => self.look(Lookaround::NotBehind),
            '<' => self.named_group('>'),
            '\'' => self.named_group('\''),
            '(' => self.condition(),
            '~' => Err(format!("the absence operator (?~ at {} is not supported here", self.at - 3)),
            'i' | 'm' | 'x' | 'a' | 'd' | 'u' | '-' => {
                self.at -= 1;
                self.options()
            }
            _ => Err("undefined group option".into()),
        }
    }

    fn plain_group(&mut self) -> Wrong<Node> {
        self.unnamed = true;
        if self.named_only {
            return self.inside();
        }
        let number = self.group_number()?;
        self.inside().map(|node| Node::Group(number, Box::new(node)))
    }

    /// Parses the content of a group, including the closing parenthesis.
    fn inside(&mut self) -> Wrong<Node> {
        let node = self.alternatives()?;
        if self.take(")") { Ok(node) } else { Err("end pattern with unmatched parenthesis".into()) }
    }

    fn look(&mut self, lookaround: Lookaround) -> Wrong<Node> {
        let node = self.inside()?;
        if lookaround.is_behind() && node.width().1.is_none() {
            return Err("invalid pattern in look-behind".into());
        }
        Ok(Node::Look { node: Box::new(node), lookaround })
    }

    fn named_group(&mut self, end: char) -> Wrong<Node> {
        let name = self.until(end).ok_or("end pattern in group")?;
        check_name(&name)?;
        let number = self.group_number()?;
        match self.by_name.get(&name) {
            Some(at) => self.names[*at].1.push(number),
            None => {
                self.by_name.insert(name.clone(), self.names.len());
                self.names.push((name, vec![number]));
            }
        }
        self.inside().map(|node| Node::Group(number, Box::new(node)))
    }

    /// Parses options: `(?imx-imx)` for the rest of the enclosing group, `(?imx-imx:…)` for its own content.
    fn options(&mut self) -> Wrong<Node> {
        let before = self.flags;
        let mut on = true;
        loop {
            match self.next() {
                Some('-') => on = false,
                Some('i') => self.flags.fold = on,
                Some('m') => self.flags.dotall = on,
                Some('x') => self.flags.extended = on,
                Some('a') if on => self.flags.letters = Letters::Ascii,
                Some('d') if on => self.flags.letters = Letters::Default,
                Some('u') if on => self.flags.letters = Letters::Unicode,
                // After `)` the options apply to all that follows, alternatives too, up to the enclosing group's end.
                Some(end @ (')' | ':')) => {
                    let node = if end == ')' { self.alternatives() } else { self.inside() };
                    self.flags = before;
                    return node;
                }
                None => return Err("end pattern in group".into()),
                Some(_) => return Err("undefined group option".into()),
            }
        }
    }

    /// Parses a condition: `(?(1)yes|no)`.
    fn condition(&mut self) -> Wrong<Node> {
        let text = self.until(')').ok_or("end pattern in group")?;
        let named = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        let named = named.or_else(|| text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')));
        let target = self.target(named.unwrap_or(&text)).map_err(|_| "invalid conditional pattern".to_owned())?;
        self.backs.push(target);
        let index = self.backs.len() - 1;
        let (yes, no) = match self.inside()? {
            Node::Alt(mut all) if all.len() == 2 => {
                let no = all.pop().unwrap_or(Node::Empty);
                (all.pop().unwrap_or(Node::Empty), no)
            }
            Node::Alt(_) => return Err("invalid conditional pattern".into()),
            yes => (yes, Node::Empty),
        };
        Ok(Node::Cond { index, yes: Box::new(yes), no: Box::new(no) })
    }

    /// The group that a text between `<` and `>` refers to: a name, a number, or a number relative to this position.
    pub(super) fn target(&self, text: &str) -> Wrong<Target> {
        let digits = text.trim_start_matches(['-', '+']);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            check_name(text)?;
            return Ok(Target::Name(text.to_owned()));
        }
        let number: u32 = digits.parse().map_err(|_| "too big number".to_owned())?;
        let invalid = || format!("invalid backref number/name: <{text}>");
        match text.chars().next() {
            Some('-') => (self.groups + 1).checked_sub(number).map(Target::Number).ok_or_else(invalid),
            Some('+') => self.groups.checked_add(number).map(Target::Number).ok_or_else(invalid),
            _ => Ok(Target::Number(number)),
        }
    }
}

fn check_name(name: &str) -> Wrong<()> {
    let Some(first) = name.chars().next() else { return Err("group name is empty".into()) };
    // As in Onigmo, all characters but the first may be anything: Ruby's URI library has `(?<IP-literal>…)`.
    let is_word = first == '_' || first.is_alphanumeric();
    if first.is_ascii_digit() || !is_word || name.contains(')') {
        return Err(format!("invalid group name <{name}>"));
    }
    Ok(())
}
