//! Where contenders come from: this machine, a user's bundle, or a ring.
