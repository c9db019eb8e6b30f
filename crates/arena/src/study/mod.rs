//! A study: its recipe, its plan, and a run of it.
