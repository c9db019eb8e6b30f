//! The number of requests after which an interpreter or a worker is recycled.

use std::hash::{BuildHasher, RandomState};

/// Returns `max_requests` and a random surplus of up to `jitter_percent` percent, so that workers that were started
/// together are not recycled together. `None` if `max_requests` is 0: never.
pub fn quota(max_requests: u64, jitter_percent: u64) -> Option<u64> {
    let most = u128::from(max_requests) * u128::from(jitter_percent) / 100;
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    // Each `RandomState` has fresh keys from the system's randomness.
    let random = RandomState::new().hash_one(0);
    (max_requests > 0).then(|| max_requests.saturating_add(random % most.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_differ_within_their_bounds() {
        let quotas: Vec<u64> = (0..100).filter_map(|_| quota(1000, 10)).collect();
        assert!(quotas.iter().all(|quota| (1000..=1100).contains(quota)), "{quotas:?}");
        assert!(quotas.iter().any(|quota| *quota != quotas[0]));
        assert_eq!((quota(5, 10), quota(0, 10), quota(7, 0)), (Some(5), None, Some(7)));
        assert!(quota(u64::MAX, 100).is_some());
    }

    #[test]
    fn the_surplus_is_a_share_of_the_requests() {
        assert!((0..100).any(|_| quota(1_000_000, 50) > Some(1_100_000)));
    }
}
