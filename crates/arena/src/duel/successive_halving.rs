//! Successive halving of the settings: all are tried briefly, the better ones longer, and the best of each server takes
//! part in the rounds. Pure.

use super::plan::MORE_FINALISTS;
use super::settings::Setting;

/// Ratio of two rates above which a short heat shows no difference between them.
const NEAR: f64 = 0.97;

/// Share of the best rate in the heats that a further recipe of a server must reach to take part in the rounds.
const FINALIST_SHARE: f64 = 0.5;

/// Result of the heats for a contender with its best setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// Name of the server; several recipes may share it.
    pub server: &'a str,
    /// Right answers per second.
    pub rate: f64,
    /// Whether it is the user's present server.
    pub is_own: bool,
}

/// Chooses the finalists among these candidates, which are sorted by rate: the best of each server, so that no server
/// fills the rounds with its recipes; the user's present one; and a few more that reached half of the best rate.
pub fn finalists(candidates: &[Candidate<'_>]) -> Vec<bool> {
    let fastest = candidates.first().map_or(0.0, |one| one.rate);
    let mut servers = Vec::<&str>::new();
    let mut more = 0;
    let stays = candidates.iter().map(|one| {
        let is_first = !servers.contains(&one.server);
        servers.extend(is_first.then_some(one.server));
        if is_first || one.is_own {
            return true;
        }
        let is_more = more < MORE_FINALISTS && one.rate >= fastest * FINALIST_SHARE;
        more += usize::from(is_more);
        is_more
    });
    stays.collect()
}

/// Most finalists of this many contenders on this many servers.
pub fn finalists_most(contenders: usize, servers: usize) -> usize {
    contenders.min(servers + MORE_FINALISTS)
}

/// Result of a heat for one setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeatResult {
    /// The setting.
    pub setting: Setting,
    /// Right answers per second.
    pub rate: f64,
    /// p99 at full load, in milliseconds.
    pub p99_ms: f64,
}

/// The best `most` settings. Among those as fast as the fastest the lowest p99 comes first, and at an equal p99 the
/// smaller setting. The user's own setting is always included.
pub fn best(shown: &[HeatResult], most: usize, now: Option<Setting>) -> Vec<Setting> {
    let mut left: Vec<HeatResult> = shown.iter().copied().filter(|one| one.rate > 0.0).collect();
    let mut chosen: Vec<Setting> = Vec::new();
    while chosen.len() < most && !left.is_empty() {
        let fastest = left.iter().map(|one| one.rate).fold(0.0, f64::max);
        let level = left.iter().filter(|one| one.rate >= fastest * NEAR);
        let order = |a: &&HeatResult, b: &&HeatResult| {
            a.p99_ms.total_cmp(&b.p99_ms).then(a.setting.at_once().cmp(&b.setting.at_once()))
        };
        let Some(first) = level.min_by(order).map(|one| one.setting) else { break };
        chosen.push(first);
        left.retain(|one| one.setting != first);
    }
    // The user's setting serves as the baseline, whatever its result, as long as it ran.
    let own = now.filter(|now| shown.iter().any(|one| one.setting == *now && one.rate > 0.0));
    chosen.extend(own.filter(|now| !chosen.contains(now)));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(workers: u32, threads: u32, rate: f64, p99_ms: f64) -> HeatResult {
        HeatResult { setting: Setting { workers, threads }, rate, p99_ms }
    }

    #[test]
    fn the_fastest_go_on_and_near_ones_by_their_p99() {
        let heat =
            [shown(2, 1, 990.0, 20.0), shown(2, 5, 1000.0, 40.0), shown(4, 1, 700.0, 9.0), shown(8, 1, 0.0, 1.0)];
        let first = Setting { workers: 2, threads: 1 };
        let second = Setting { workers: 2, threads: 5 };
        assert_eq!(best(&heat, 1, None), [first]);
        assert_eq!(best(&heat, 2, None), [first, second]);
        assert_eq!(best(&heat, 9, None).len(), 3);
        let equal = [shown(4, 4, 1000.0, 20.0), shown(2, 2, 1000.0, 20.0)];
        assert_eq!(best(&equal, 1, None)[0].workers, 2);
    }

    #[test]
    fn the_users_own_goes_on_if_it_ran() {
        let heat = [shown(2, 1, 990.0, 20.0), shown(2, 5, 100.0, 40.0), shown(8, 1, 0.0, 1.0)];
        assert_eq!(best(&heat, 1, Some(heat[1].setting)), [heat[0].setting, heat[1].setting]);
        assert_eq!(best(&heat, 1, Some(heat[2].setting)), [heat[0].setting]);
        assert!(best(&[], 1, Some(heat[2].setting)).is_empty());
    }

    fn candidate(server: &str, rate: f64) -> Candidate<'_> {
        Candidate { server, rate, is_own: false }
    }

    #[test]
    fn no_server_keeps_another_out_of_the_rounds() {
        // Five recipes of one server are faster than the only one of each of the others.
        let mut all: Vec<Candidate<'_>> = (0..5).map(|at| candidate("foolsgold", 9000.0 - f64::from(at))).collect();
        all.extend(["puma", "unicorn", "passenger", "thin"].map(|server| candidate(server, 1000.0)));
        let stays = finalists(&all);
        assert_eq!(stays, [true, true, true, true, false, true, true, true, true]);
        assert_eq!(stays.iter().filter(|stays| **stays).count(), finalists_most(9, 5));
        assert_eq!(finalists_most(2, 2), 2);
    }

    #[test]
    fn second_recipes_of_a_server_are_in_the_rounds_when_they_are_fast_or_the_users() {
        let own = Candidate { is_own: true, ..candidate("thin", 10.0) };
        let all = [candidate("puma", 1000.0), candidate("thin", 900.0), candidate("thin", 499.0), own];
        assert_eq!(finalists(&all), [true, true, false, true]);
        assert_eq!(finalists(&[]), [false; 0]);
    }
}
