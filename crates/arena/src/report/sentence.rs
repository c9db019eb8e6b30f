//! Recorded sentences, made readable for people.

use super::styles::Styles;
use crate::record::summary::Summary;

/// Makes a recorded sentence readable: contenders with settings become their titles (`Puma -w 2`, not `puma -w 2`), and
/// the first letter a capital. Names of a single word are kept, since they could be any word.
pub fn readable(text: &str, summary: &Summary, styles: &Styles) -> String {
    let mut names: Vec<&str> = summary.contenders.iter().map(|who| who.name.as_str()).collect();
    names.retain(|name| name.contains(' '));
    // A name may be a prefix of a longer one.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let begins = !out.ends_with(|c: char| c.is_alphanumeric());
        let found = names.iter().find(|name| begins && rest.starts_with(**name) && !goes_on(&rest[name.len()..]));
        let step = match found {
            Some(name) => {
                out.push_str(&styles.title(name));
                name.len()
            }
            None if out.is_empty() => {
                out.extend(letter.to_uppercase());
                letter.len_utf8()
            }
            None => {
                out.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[step..];
    }
    out
}

/// Whether a name that ends here is only the start of a longer word.
fn goes_on(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Who;

    #[test]
    fn sentences_name_settings_by_their_titles() {
        let who = |name: &str, title: &str| Who { name: name.into(), title: title.into(), ..Who::default() };
        let contenders =
            vec![who("puma", "Puma"), who("puma -w 2", "Puma -w 2"), who("puma -w 2 -t 3", "Puma -w 2 -t 3")];
        let summary = Summary { contenders, ..Summary::default() };
        let said = |text: &str| readable(text, &summary, &Styles::of(&summary));
        assert_eq!(said("puma -w 2 -t 3: 5; puma -w 2 is level"), "Puma -w 2 -t 3: 5; Puma -w 2 is level");
        assert_eq!(said("use puma -w 24, a puma"), "Use puma -w 24, a puma");
        assert_eq!(said(""), "");
    }
}
