//! What stands in the server's environment and is no business of applications, nor of the error reporters in them.

/// Names of variables that no process or interpreter of an application is given.
pub const SECRET_VARIABLES: [&str; 1] = ["FOOLS_GOLD_ADMIN_TOKEN"];
