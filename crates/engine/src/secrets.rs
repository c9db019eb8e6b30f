//! Secrets in the server's environment, kept from applications and from the error reporters in them.

/// Names of environment variables that are removed from every process and interpreter of an application.
pub const SECRET_VARIABLES: [&str; 1] = ["FOOLS_GOLD_ADMIN_TOKEN"];
