//! Escaping for HTML and URLs, for CGI, ERB::Util, URI and Rack::Utils.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use ruby_native::{Arg, Context, Outcome, Value, arg, raise};

/// Characters that are escaped in a URL: all but the unreserved ones of RFC 3986, section 2.3.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that are escaped in a form: the URL Standard, "application/x-www-form-urlencoded percent-encode set".
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// CGI.escapeHTML: & < > " '; a String of bytes stays one.
pub fn html_escape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0);
    let bytes = text.bytes()?;
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    for byte in bytes {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            other => out.push(*other),
        }
    }
    Ok(like(text, out))
}

/// CGI.unescapeHTML: the five characters that CGI.escapeHTML escapes, and characters by number. A String of bytes stays
/// one, and gets none that is not ASCII.
pub fn html_unescape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0);
    let bytes = text.bytes()?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'&') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = match reference(rest) {
            Some((char, length)) if char.is_ascii() || !matches!(text, Arg::Bytes(_)) => {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                length
            }
            _ => {
                out.push(b'&');
                1
            }
        };
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    Ok(like(text, out))
}

/// A String that is one of bytes where the argument is.
pub fn like(text: Arg<'_>, bytes: Vec<u8>) -> Value {
    if matches!(text, Arg::Bytes(_)) { Value::Bytes(bytes) } else { Value::Str(bytes) }
}

/// The character of the HTML reference at the beginning of a text, and the length of the reference in bytes.
fn reference(text: &[u8]) -> Option<(char, usize)> {
    let named = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')];
    if let Some((name, char)) = named.iter().find(|(name, _)| text.starts_with(name.as_bytes())) {
        return Some((*char, name.len()));
    }
    let (digits, radix) = match text.strip_prefix(b"&#")? {
        [b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    let end = digits.iter().position(|byte| !char::from(*byte).is_digit(radix)).filter(|end| digits[*end] == b';')?;
    let code = u32::from_str_radix(std::str::from_utf8(&digits[..end]).ok()?, radix).ok()?;
    char::from_u32(code).map(|char| (char, text.len() - digits.len() + end + 1))
}

/// CGI.escape: a space is a plus sign.
pub fn form_escape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(plus_for_space(arg(args, 0).bytes()?, UNRESERVED)))
}

/// URI.encode_www_form_component: like CGI.escape, with another set of unescaped characters.
pub fn www_form_escape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(plus_for_space(arg(args, 0).bytes()?, FORM)))
}

fn plus_for_space(bytes: &[u8], kept: &'static AsciiSet) -> Vec<u8> {
    percent_encode(bytes, kept).to_string().replace("%20", "+").into_bytes()
}

/// CGI.unescape
pub fn form_unescape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let spaced: Vec<u8> = arg(args, 0).bytes()?.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Ok(Value::Str(percent_decode(&spaced).collect()))
}

/// URI.decode_www_form_component, which refuses a % without two digits behind it.
pub fn www_form_unescape(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        rest = &rest[at + 1..];
        if rest.len() < 2 || !rest[..2].iter().all(u8::is_ascii_hexdigit) {
            let shown = String::from_utf8_lossy(bytes);
            return Err(raise("ArgumentError", format!("invalid %-encoding ({shown})")));
        }
    }
    form_unescape(context, args)
}

/// ERB::Util.url_encode: a space is %20.
pub fn url_escape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(percent_encode(arg(args, 0).bytes()?, UNRESERVED).to_string().into_bytes()))
}

/// `url_unescape(text)`: decodes %xx and nothing else. The result is a String of bytes if the argument is one.
pub fn url_unescape(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0);
    Ok(like(text, percent_decode(text.bytes()?).collect()))
}
