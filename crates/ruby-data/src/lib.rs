//! What embedded Ruby reaches outside of its process: SQLite, Redis, HTTP. Each call is bounded in time by the request,
//! and in memory by the interpreter. Every function is a row of [`TABLE`].

#![expect(unsafe_code, reason = "SQLite is a library in C, and Ruby holds its statements as long as it likes")]

mod http;
mod redis;
mod sqlite;

use std::rc::Rc;

use ruby_native::{Handles, Native};

use sqlite::Connection;

/// Rolls back what the request that is over has left open; how many transactions that were.
pub fn roll_back(handles: &Handles) -> usize {
    handles.things::<Rc<Connection>>().filter(|connection| connection.settle()).count()
}

/// All functions. To add one is to add a row.
pub static TABLE: &[Native] = &[
    Native::function(c"sqlite_open", sqlite::calls::open),
    Native::function(c"sqlite_execute", sqlite::calls::execute),
    Native::function(c"sqlite_prepare", sqlite::calls::prepare),
    Native::function(c"sqlite_used", sqlite::calls::used),
    Native::function(c"sqlite_bind", sqlite::calls::bind),
    Native::function(c"sqlite_fetch", sqlite::calls::fetch),
    Native::function(c"sqlite_reset", sqlite::calls::reset),
    Native::function(c"sqlite_about", sqlite::calls::about),
    Native::function(c"sqlite_tell", sqlite::calls::tell),
    Native::function(c"sqlite_busy", sqlite::calls::busy),
    Native::function(c"sqlite_version", sqlite::calls::version),
    Native::function(c"http_send", http::calls::send),
    Native::function(c"http_head", http::calls::head),
    Native::function(c"http_read", http::calls::read),
    Native::function(c"redis_open", redis::calls::open),
    Native::function(c"redis_call", redis::calls::call),
];
