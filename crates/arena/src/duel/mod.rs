//! A user's own application: workload, learned answers, settings, advice.
