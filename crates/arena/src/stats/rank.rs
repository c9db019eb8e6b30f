//! Who is better than whom, in groups: those in one group are level with its leader.

use super::level;
use crate::metric::Sense;
use crate::record::summary::Spread;

/// Best first. Each is compared with the leader of the group before it, not with its neighbour: a chain of small steps
/// must not make the first and the last one level. What has no finite number is left out. A metric without a good end
/// ranks nobody: all stand in one group.
pub fn ranking(list: Vec<(String, Spread)>, sense: Sense) -> Vec<Vec<String>> {
    let mut list: Vec<(String, Spread)> = list.into_iter().filter(|(_, spread)| spread.is_sound()).collect();
    match sense {
        Sense::Higher => list.sort_by(|a, b| b.1.median.total_cmp(&a.1.median)),
        Sense::Lower => list.sort_by(|a, b| a.1.median.total_cmp(&b.1.median)),
        Sense::Plain if list.is_empty() => return Vec::new(),
        Sense::Plain => return vec![list.into_iter().map(|(name, _)| name).collect()],
    }
    let mut groups: Vec<(Spread, Vec<String>)> = Vec::new();
    for (name, spread) in list {
        match groups.last_mut() {
            Some((leader, names)) if level(leader, &spread) => names.push(name),
            _ => groups.push((spread, vec![name])),
        }
    }
    groups.into_iter().map(|(_, names)| names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Dice;

    fn entry(name: &str, numbers: &[f64]) -> (String, Spread) {
        (name.to_owned(), Spread::of(numbers).unwrap_or(Spread { median: f64::NAN, ..Spread::default() }))
    }

    #[test]
    fn groups_follow_their_leaders() {
        let list = vec![
            entry("slow", &[50.0, 51.0]),
            entry("second", &[98.0, 99.0]),
            entry("first", &[100.0, 101.0]),
            entry("third", &[96.0, 96.5]),
            entry("nothing", &[]),
        ];
        let groups = ranking(list.clone(), Sense::Higher);
        assert_eq!(groups, [vec!["first", "second"], vec!["third"], vec!["slow"]], "third is level with second only");
        assert_eq!(ranking(list.clone(), Sense::Lower)[0], ["slow"]);
        assert_eq!(ranking(list, Sense::Plain).len(), 1);
        assert_eq!(ranking(Vec::new(), Sense::Higher), Vec::<Vec<String>>::new());
        assert_eq!(ranking(Vec::new(), Sense::Plain), Vec::<Vec<String>>::new());
    }

    #[test]
    fn everybody_is_ranked_once_whatever_the_order() {
        let mut dice = Dice::from_seed(5);
        for _ in 0..300 {
            let count = dice.below(9);
            let mut list: Vec<_> = (0..count)
                .map(|at| entry(&at.to_string(), &[dice.fraction() * 100.0, dice.fraction() * 100.0]))
                .collect();
            let groups = ranking(list.clone(), Sense::Lower);
            dice.shuffle(&mut list);
            assert_eq!(groups, ranking(list, Sense::Lower));
            assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), count);
            assert!(groups.iter().all(|group| !group.is_empty()));
        }
    }
}
