//! The recommended engine, from the doctor's findings.

use super::report::{Asked, OnRuby, Report, There};

/// The recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recommendation {
    /// The embedded engine: everything that was tried works.
    Here,
    /// The embedded engine: everything that was tried works, but something may not, or differs.
    HereWithDoubts,
    /// The user's own Ruby.
    There,
    /// The user's own Ruby: the embedded engine has a different response.
    ThereAsItDiffers,
    /// Neither: it fails on both.
    Neither,
}

impl Recommendation {
    /// The recommendation for an application.
    pub fn of(report: &Report) -> Recommendation {
        let fails = |asked: &Asked| asked.here.as_ref().map_or(true, |answer| answer.status >= 500);
        let fails_there = |asked: &Asked| match &asked.there {
            There::Failed(_) => true,
            There::Same(_) => fails(asked),
            There::Other { .. } | There::NotAsked => false,
        };
        if report.loaded.is_none() || report.asked.iter().any(|asked| fails(asked) && !fails_there(asked)) {
            // A Ruby that does not load it is no better.
            let is_there = !matches!(report.on_ruby, OnRuby::Fails(_));
            return if is_there { Recommendation::There } else { Recommendation::Neither };
        }
        if report.asked.iter().any(fails) {
            return Recommendation::Neither;
        }
        let another = |asked: &Asked| match &asked.there {
            There::Other { found, .. } => found.another_answer,
            There::NotAsked | There::Same(_) | There::Failed(_) => false,
        };
        if report.asked.iter().any(another) {
            return Recommendation::ThereAsItDiffers;
        }
        let differs = report.asked.iter().any(|asked| matches!(asked.there, There::Other { .. }));
        if differs || !report.doubts.is_empty() { Recommendation::HereWithDoubts } else { Recommendation::Here }
    }

    /// Whether the embedded engine is recommended.
    pub fn is_good(self) -> bool {
        matches!(self, Recommendation::Here | Recommendation::HereWithDoubts)
    }

    /// The value for `--engine`, or `none`.
    pub fn word(self) -> &'static str {
        match self {
            Recommendation::Here | Recommendation::HereWithDoubts => "mruby",
            Recommendation::There | Recommendation::ThereAsItDiffers => "ruby",
            Recommendation::Neither => "none",
        }
    }

    /// The recommendation as a sentence.
    pub fn sentence(self, report: &Report) -> String {
        let not_compared = matches!(report.on_ruby, OnRuby::Fails(_) | OnRuby::Absent(_));
        match self {
            Recommendation::Here if not_compared => {
                "Recommended: --engine mruby. All that was tried works on the embedded interpreter; there was no \
                 answer of a Ruby to compare with."
            }
            Recommendation::Here => {
                "Recommended: --engine mruby. All that was tried works on the embedded interpreter."
            }
            Recommendation::HereWithDoubts => {
                "Recommended: --engine mruby, after a look at the places above: all that was tried works, but these \
                 may not."
            }
            Recommendation::There if not_compared => {
                "Recommended: --engine ruby, with a Ruby that is not here yet (--ruby names one). The embedded \
                 interpreter lacks what is listed above."
            }
            Recommendation::There => "Recommended: --engine ruby. The embedded interpreter lacks what is listed above.",
            Recommendation::ThereAsItDiffers => {
                "Recommended: --engine ruby. The embedded interpreter answers otherwise than the Ruby, as listed \
                 above. Where that is meant, --engine mruby may do."
            }
            Recommendation::Neither => return neither(report),
        }
        .to_owned()
    }
}

fn neither(report: &Report) -> String {
    match not_installed(report) {
        Some(library) => {
            let how = match &report.gemfile {
                Some(_) => "bundle install, in its folder".to_owned(),
                None => format!("the gem that has it: gem install {}", library.split('/').next().unwrap_or(library)),
            };
            format!(
                "Neither engine runs it as it is. The embedded interpreter fails as listed above; the Ruby lacks \
                 \"{library}\". Install it ({how}), then ask again: --engine ruby may do."
            )
        }
        None => "Recommended: mend the application first: it fails on both engines, as listed above.".to_owned(),
    }
}

/// The first library or gem that the user's Ruby lacks to load the application.
pub fn not_installed(report: &Report) -> Option<&str> {
    let OnRuby::Fails(why) = &report.on_ruby else { return None };
    let after = |words| why.split_once(words).map(|(_, rest)| rest);
    let rest =
        after("cannot load such file -- ").or_else(|| after("Could not find ")).or_else(|| after("find gem '"))?;
    let name = rest.split([' ', '\'', ',']).next()?.trim_end_matches(['.', ':']);
    // A path is a file of the application.
    (!name.is_empty() && !name.starts_with('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::answer::Answer;
    use super::super::difference::Difference;
    use super::*;

    fn report(asked: &[(Option<u16>, There)]) -> Report {
        let one = |(status, there): &(Option<u16>, There)| Asked {
            path: "/".into(),
            here: status
                .map(|status| Answer { status, headers: Vec::new(), body: Default::default() })
                .ok_or("raised".into()),
            there: there.clone(),
        };
        let asked = asked.iter().map(one).collect();
        Report { loaded: Some(Duration::ZERO), asked, ..Report::default() }
    }

    #[test]
    fn what_works_is_recommended() {
        let other = || There::Other { found: Difference::default(), answer: None };
        let another =
            || There::Other { found: Difference { another_answer: true, ..Difference::default() }, answer: None };
        let failed = || There::Failed("raised".into());
        let same = || There::Same(Vec::new());
        let cases = [
            (vec![(Some(200), same()), (Some(404), There::NotAsked)], Recommendation::Here),
            (vec![(Some(200), other())], Recommendation::HereWithDoubts),
            (vec![(Some(200), same()), (Some(200), another())], Recommendation::ThereAsItDiffers),
            (vec![(Some(500), other())], Recommendation::There),
            (vec![(Some(500), another())], Recommendation::There),
            (vec![(None, other())], Recommendation::There),
            (vec![(None, failed())], Recommendation::Neither),
            (vec![(Some(500), same())], Recommendation::Neither),
            (vec![(Some(200), failed())], Recommendation::Here),
        ];
        for (asked, recommendation) in cases {
            assert_eq!(Recommendation::of(&report(&asked)), recommendation, "{asked:?}");
        }
        let unloaded = |on_ruby| Recommendation::of(&Report { on_ruby, ..Report::default() });
        assert_eq!(unloaded(OnRuby::Loads), Recommendation::There);
        assert_eq!(unloaded(OnRuby::Absent("no ruby".into())), Recommendation::There);
        assert_eq!(unloaded(OnRuby::Fails("SyntaxError".into())), Recommendation::Neither);
        let loaded = Report { on_ruby: OnRuby::Fails("NameError".into()), ..report(&[(Some(200), There::NotAsked)]) };
        assert_eq!(Recommendation::of(&loaded), Recommendation::Here);
    }

    #[test]
    fn what_is_to_be_installed_is_named() {
        let fails = |why: &str| Report { on_ruby: OnRuby::Fails(why.into()), ..Report::default() };
        let cases = [
            ("LoadError: cannot load such file -- nokogiri /srv/a.rb:1:in `require'", Some("nokogiri")),
            ("Bundler::GemNotFound: Could not find rails-7.1.0 in locally installed gems", Some("rails-7.1.0")),
            ("LoadError: cannot load such file -- /srv/lib/gone", None),
            ("SyntaxError: unexpected end", None),
        ];
        for (why, name) in cases {
            assert_eq!(not_installed(&fails(why)), name, "{why}");
        }
    }
}
