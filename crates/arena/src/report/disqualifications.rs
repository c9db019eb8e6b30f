//! Disqualified contenders of a run, with the cases and the reasons.

use super::styles::Styles;
use super::twins;
use crate::record::summary::{Case, Summary};

/// Disqualified contenders as name, cases and reason. A reason common to several cases is listed once. The twin is
/// among them: it is its original once more, so that its wrong answers are those of that server.
pub fn list(summary: &Summary, styles: &Styles) -> Vec<(String, String, String)> {
    let of_twin = twins::chip(summary, styles).title;
    let mut found: Vec<(String, Vec<&Case>, &str)> = Vec::new();
    for case in &summary.cases {
        let own = case.results.iter().map(|result| (&result.contender, result));
        for (name, result) in own.chain(case.twin.iter().map(|twin| (&of_twin, twin))) {
            let Some(why) = &result.disqualified else { continue };
            match found.iter_mut().find(|(known, _, reason)| known == name && reason == why) {
                Some((_, cases, _)) => cases.push(case),
                None => found.push((name.clone(), vec![case], why)),
            }
        }
    }
    let place = |cases: &[&Case]| match cases {
        [case] => case.title.clone(),
        cases if cases.len() == summary.cases.len() => "all cases".to_owned(),
        cases => format!("{} cases", cases.len()),
    };
    found.into_iter().map(|(name, cases, why)| (name, place(&cases), why.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::{Measured, Who};

    #[test]
    fn a_wrong_answer_of_the_twin_is_told_as_one_of_its_original() {
        let lies = |name: &str, why: Option<&str>| Measured {
            contender: name.into(),
            disqualified: why.map(str::to_owned),
            ..Measured::default()
        };
        let case = |title: &str, own: Option<&str>, twin: Option<&str>| Case {
            title: title.into(),
            results: vec![lies("a", own)],
            twin: Some(lies("twin", twin)),
            ..Case::default()
        };
        let wrong = Some("a wrong answer");
        let cases = vec![case("Page", None, wrong), case("Upload", wrong, None), case("Start", None, None)];
        let who = Who { name: "a".into(), title: "Server A".into(), ..Who::default() };
        let run = Summary { contenders: vec![who], cases, twin_of: Some("a".into()), ..Summary::default() };
        let row = |name: &str, case: &str| (name.to_owned(), case.to_owned(), "a wrong answer".to_owned());
        assert_eq!(list(&run, &Styles::of(&run)), [row("the twin of Server A", "Page"), row("a", "Upload")]);
    }
}
