//! Clients for embedded Ruby: SQLite, Redis and HTTP. Each call ends at the request's deadline at the latest, and its
//! memory counts towards the interpreter's limit. Every function is a row of [`TABLE`].

#![expect(unsafe_code, reason = "SQLite is a library in C, and Ruby holds its statements as long as it likes")]

mod http;
mod redis;
mod sqlite;

use std::rc::Rc;

use ruby_native::{Handles, Native};

use sqlite::{SqliteConnection, Statement};

/// Rolls back the transactions that the finished request has left open, and returns their number. A database that was
/// closed lives on, with its transaction and its locks, as long as one of its statements does.
pub fn roll_back(handles: &Handles) -> usize {
    let mut connections: Vec<&Rc<SqliteConnection>> = handles.things().collect();
    for connection in handles.things::<Statement>().map(Statement::connection) {
        if !connections.iter().any(|known| Rc::ptr_eq(known, connection)) {
            connections.push(connection);
        }
    }
    connections.into_iter().filter(|connection| connection.roll_back()).count()
}

/// All native functions of this crate.
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
