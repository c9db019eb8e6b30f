//! Disqualified contenders of a run, with the cases and the reasons.

use crate::record::summary::{Case, Summary};

/// Disqualified contenders as name, cases and reason. A reason common to several cases is listed once.
pub fn list(summary: &Summary) -> Vec<(String, String, String)> {
    let mut found: Vec<(String, Vec<&Case>, &str)> = Vec::new();
    for case in &summary.cases {
        for result in &case.results {
            let Some(why) = &result.disqualified else { continue };
            match found.iter_mut().find(|(name, _, reason)| *name == result.contender && reason == why) {
                Some((_, cases, _)) => cases.push(case),
                None => found.push((result.contender.clone(), vec![case], why)),
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
