//! The recommendation, from what was found. Pure.

use super::report::{Report, There};

/// Which engine, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All that was tried works here.
    Here,
    /// All that was tried works here; something was not tried, or differs.
    HereWithDoubts,
    /// The user's own Ruby.
    There,
    /// It fails on both: no engine helps.
    Neither,
}

impl Verdict {
    /// Of one application.
    pub fn of(report: &Report) -> Verdict {
        let fails = |asked: &super::report::Asked| asked.here.as_ref().map_or(true, |answer| answer.status >= 500);
        let fails_there = |asked: &super::report::Asked| match &asked.there {
            There::Failed(_) => true,
            There::Same => fails(asked),
            There::Other(_) | There::NotAsked => false,
        };
        if report.loaded.is_none() || !report.findings.is_empty() {
            return Verdict::There;
        }
        if report.asked.iter().any(|asked| fails(asked) && !fails_there(asked)) {
            return Verdict::There;
        }
        if report.asked.iter().any(fails) {
            return Verdict::Neither;
        }
        let differs = report.asked.iter().any(|asked| matches!(asked.there, There::Other(_)));
        if differs || !report.doubts.is_empty() { Verdict::HereWithDoubts } else { Verdict::Here }
    }

    /// Whether the embedded engine will do.
    pub fn is_good(self) -> bool {
        matches!(self, Verdict::Here | Verdict::HereWithDoubts)
    }

    /// One word for machines: the value of `--engine`, or `none`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Here | Verdict::HereWithDoubts => "mruby",
            Verdict::There => "ruby",
            Verdict::Neither => "none",
        }
    }

    /// A sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Verdict::Here => "Recommended: --engine mruby. All that was tried works on the embedded interpreter.",
            Verdict::HereWithDoubts => {
                "Recommended: --engine mruby, after a look at the places above: all that was tried works, but these \
                 may not."
            }
            Verdict::There => "Recommended: --engine ruby. The embedded interpreter lacks what is listed above.",
            Verdict::Neither => "Recommended: mend the application first: it fails on both engines, as listed above.",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::answer::Answer;
    use super::super::examine::Finding;
    use super::super::report::Asked;
    use super::*;

    fn report(asked: &[(Option<u16>, There)]) -> Report {
        let one = |(status, there): &(Option<u16>, There)| Asked {
            path: "/".into(),
            here: status.map(|status| Answer { status, headers: Vec::new(), body: Vec::new() }).ok_or("raised".into()),
            there: there.clone(),
        };
        let asked = asked.iter().map(one).collect();
        Report { loaded: Some(Duration::ZERO), asked, ..Report::default() }
    }

    #[test]
    fn what_works_is_recommended() {
        let other = || There::Other("another body".into());
        let failed = || There::Failed("raised".into());
        let cases = [
            (vec![(Some(200), There::Same), (Some(404), There::NotAsked)], Verdict::Here),
            (vec![(Some(200), other())], Verdict::HereWithDoubts),
            (vec![(Some(500), other())], Verdict::There),
            (vec![(None, other())], Verdict::There),
            (vec![(None, failed())], Verdict::Neither),
            (vec![(Some(500), There::Same)], Verdict::Neither),
            (vec![(Some(200), failed())], Verdict::Here),
        ];
        for (asked, verdict) in cases {
            assert_eq!(Verdict::of(&report(&asked)), verdict, "{asked:?}");
        }
        let lacks = Finding { kind: "library".into(), name: "x".into(), words: "x".into(), places: Vec::new() };
        assert_eq!(Verdict::of(&Report { findings: vec![lacks], ..report(&[]) }), Verdict::There);
        assert_eq!(Verdict::of(&Report::default()), Verdict::There);
    }
}
