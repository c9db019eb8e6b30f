//! Medians, spreads, and when two are level. Pure.
