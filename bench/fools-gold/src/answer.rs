//! Checks responses before and after each measurement: status, the page around its two values, the shape of the id, and
//! the count.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// Path of the page on every server.
pub const PATH: &str = "/fools-gold";

/// The two values of a page.
#[derive(Debug, Clone)]
pub struct Page {
    pub id: String,
    pub count: u64,
}

/// The page without its values.
#[derive(Debug, Clone)]
pub struct Template {
    top: String,
    middle: String,
    bottom: String,
}

impl Template {
    /// Reads the template from the application's folder.
    pub fn read(app: &Path) -> Result<Template, String> {
        let file = app.join("page.html");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parts = text.split_once("{count}").and_then(|(top, rest)| {
            let (middle, bottom) = rest.split_once("{id}")?;
            Some((top.to_owned(), middle.to_owned(), bottom.to_owned()))
        });
        let (top, middle, bottom) = parts.ok_or("page.html has no {count} and {id} in this order")?;
        Ok(Template { top, middle, bottom })
    }

    /// The page with these values.
    pub fn fill(&self, id: &str, count: u64) -> String {
        format!("{}{count}{}{id}{}", self.top, self.middle, self.bottom)
    }

    /// The values of a page; the error says what is wrong with it.
    fn values(&self, page: &str) -> Result<Page, String> {
        let inner = page.strip_prefix(self.top.as_str()).and_then(|page| page.strip_suffix(self.bottom.as_str()));
        let (count, id) = inner.and_then(|inner| inner.split_once(&self.middle)).ok_or("this is not the page")?;
        let count = count.parse().map_err(|_| format!("the count is {count:?}"))?;
        if !is_uuid_v4(id) {
            return Err(format!("the id {id:?} is no UUID of version 4"));
        }
        Ok(Page { id: id.to_owned(), count })
    }
}

/// Requests the page on a connection of its own.
pub fn ask(port: u16, template: &Template) -> Result<Page, String> {
    let wrong = |why: &str| format!("port {port}: {why}");
    let text = fetch(port).map_err(|error| wrong(&error.to_string()))?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| wrong("no whole answer"))?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(wrong(head.lines().next().unwrap_or_default()));
    }
    template.values(body).map_err(|error| wrong(&error))
}

fn fetch(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn is_uuid_v4(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        && parts[2].starts_with('4')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_back_its_values_and_nothing_else_passes() {
        let template = Template { top: "<".into(), middle: "|".into(), bottom: ">".into() };
        let id = "0c5e6a52-7f7e-4f2a-8a8e-2f5e1c3b9d10";
        let page = template.values(&template.fill(id, 7)).unwrap();
        assert_eq!((page.id.as_str(), page.count), (id, 7));
        assert!(template.values("<x|0c5e6a52-7f7e-4f2a-8a8e-2f5e1c3b9d10>").is_err());
        assert!(template.values("<7|0c5e6a52-7f7e-1f2a-8a8e-2f5e1c3b9d10>").is_err());
        assert!(template.values("Not Found").is_err());
    }
}
