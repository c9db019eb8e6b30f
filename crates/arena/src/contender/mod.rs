//! What a contender is: its recipe, whether it is there, and a running server made of it.
