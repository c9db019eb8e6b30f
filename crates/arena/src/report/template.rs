//! The templates of the pages: one frame, one style, a small script that nothing depends on. A page needs no other file.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

const FILES: [(&str, &str); 6] = [
    ("frame.html", include_str!("html/frame.html")),
    ("page.html", include_str!("html/page.html")),
    ("parts.html", include_str!("html/parts.html")),
    ("compare.html", include_str!("html/compare.html")),
    ("index.html", include_str!("html/index.html")),
    ("style.css", include_str!("html/style.css")),
];
const SCRIPT: (&str, &str) = ("script.js", include_str!("html/script.js"));

/// Fills a template. All text is escaped but what the template calls safe, which is drawn by ourselves.
pub fn fill(name: &str, view: &impl Serialize) -> Result<String, String> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    for (name, text) in FILES.into_iter().chain([SCRIPT]) {
        templates.add_template(name, text).map_err(|error| format!("{name}: {error:#}"))?;
    }
    let template = templates.get_template(name).map_err(|error| error.to_string())?;
    template.render(Serde(view)).map_err(|error| format!("{name}: {error:#}"))
}
