//! Error responses when the application gives none: a small page, or plain text or JSON for programs. In production
//! they have the status and the request id only; in development also the fault.

use std::fmt::Write;

use engine::Fault;
use http::StatusCode;

use crate::connection::raw_head::reason;
use crate::request::form::Form;

/// Content of an error response.
pub(crate) struct Page<'a> {
    pub(crate) status: StatusCode,
    /// Request id; empty if there is none.
    pub(crate) id: &'a str,
    /// The error in the request; never secret.
    pub(crate) why: &'a str,
    /// The fault, in development only.
    pub(crate) fault: Option<&'a Fault>,
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:12vh auto;padding:0 1.5rem;\
color:#24211c;background:#fdfbf6}h1{font-weight:600;font-size:1.6rem}code,pre{font:14px/1.5 ui-monospace,monospace}\
pre{overflow:auto;padding:1rem;background:#f3ede0;border-radius:6px}small{color:#8a8272}";

/// The body and its media type.
pub(crate) fn render(page: &Page<'_>, form: Form) -> (String, &'static str) {
    match form {
        Form::Text => (text(page), "text/plain; charset=utf-8"),
        Form::Html => (html(page), "text/html; charset=utf-8"),
        Form::Json => (json(page), "application/json"),
    }
}

/// The error as a JSON object.
fn json(page: &Page<'_>) -> String {
    let mut out = String::from("{\"error\":\"");
    let words = if page.why.is_empty() { reason(page.status) } else { page.why };
    let fault = page.fault.map(|fault| format!(": {fault}")).unwrap_or_default();
    for c in words.chars().chain(fault.chars()) {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)),
            c => out.write_char(c),
        };
    }
    out.push_str("\"}\n");
    out
}

fn text(page: &Page<'_>) -> String {
    let mut out = format!("{} {}\n", page.status.as_str(), reason(page.status));
    if !page.why.is_empty() {
        let _ = writeln!(out, "{}", page.why);
    }
    if let Some(fault) = page.fault {
        let _ = writeln!(out, "\n{fault}");
        for line in fault.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    if !page.id.is_empty() {
        let _ = writeln!(out, "request {}", page.id);
    }
    out
}

fn html(page: &Page<'_>) -> String {
    let title = format!("{} {}", page.status.as_str(), reason(page.status));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    if !page.why.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", Escaped(page.why));
    }
    if let Some(fault) = page.fault {
        let _ = writeln!(out, "<p><code>{}</code></p>", Escaped(&fault.to_string()));
        let lines = fault.lines();
        if !lines.is_empty() {
            let _ = writeln!(out, "<pre>{}</pre>", Escaped(&lines.join("\n")));
        }
    }
    if !page.id.is_empty() {
        let _ = writeln!(out, "<p><small>request {}</small></p>", Escaped(page.id));
    }
    out.push_str("</body></html>\n");
    out
}

struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::AppError;

    #[test]
    fn nothing_of_the_application_is_taken_for_markup() {
        let fault = Fault::App(Box::new(AppError {
            class: "<b>".into(),
            message: "\"<script>'&".into(),
            backtrace: vec!["<a>:1".into()],
            ..AppError::default()
        }));
        let page = Page { status: StatusCode::INTERNAL_SERVER_ERROR, id: "i", why: "<w>", fault: Some(&fault) };
        let (html, _) = render(&page, Form::Html);
        for raw in ["<b>", "<script>", "<a>", "<w>", "\"<", "'&"] {
            assert!(!html.contains(raw), "{raw} in {html}");
        }
        assert!(html.contains("&lt;a&gt;:1"));
        assert!(html.contains("<code>&lt;b&gt;: &quot;&lt;script&gt;&#39;&amp;</code>"), "{html}");
    }

    #[test]
    fn a_page_has_what_there_is_to_say_and_nothing_empty() {
        let fault = Fault::OutOfTime(engine::Overrun {
            limit: std::time::Duration::from_secs(3),
            backtrace: vec!["app.rb:1".to_owned(), "app.rb:2".to_owned()],
        });
        let page = Page { status: StatusCode::GATEWAY_TIMEOUT, id: "the-id", why: "too slow", fault: Some(&fault) };
        let said = "504 Gateway Timeout\ntoo slow\n\ntimed out: the application took longer than 3s\n  app.rb:1\n  \
                    app.rb:2\nrequest the-id\n";
        assert_eq!(render(&page, Form::Text), (said.to_owned(), "text/plain; charset=utf-8"));
        let (html, media_type) = render(&page, Form::Html);
        for said in ["<h1>504 Gateway Timeout</h1>", "<p>too slow</p>", "<pre>app.rb:1\napp.rb:2</pre>", "the-id"] {
            assert!(html.contains(said), "{said} is not in {html}");
        }
        assert_eq!(media_type, "text/html; charset=utf-8");
        let page = Page { status: StatusCode::NOT_FOUND, id: "", why: "", fault: None };
        assert_eq!(render(&page, Form::Text).0, "404 Not Found\n");
        assert_eq!(render(&page, Form::Json), ("{\"error\":\"Not Found\"}\n".to_owned(), "application/json"));
        let (html, _) = render(&page, Form::Html);
        assert!(["<p>", "<pre>", "<small>"].iter().all(|part| !html.contains(part)), "{html}");
        let fault = Fault::OutOfFiles;
        let page = Page { fault: Some(&fault), ..page };
        assert!(!render(&page, Form::Html).0.contains("<pre>"), "it has no backtrace");
    }

    #[test]
    fn an_api_is_told_in_json() {
        let fault = Fault::BadAnswer("a \"b\"\n\\".into());
        let page = Page { status: StatusCode::BAD_GATEWAY, id: "", why: "no", fault: Some(&fault) };
        let (text, _) = render(&page, Form::Json);
        assert!(text.starts_with("{\"error\":\"no: ") && text.ends_with("\"}\n"), "{text}");
        assert!(text.contains("a \\\"b\\\"\\u000a\\\\"), "{text}");
    }
}
