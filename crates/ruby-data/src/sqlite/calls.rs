//! Native functions for library/sqlite3.rb. Each function that may wait for a disk or a lock migrates to a runner
//! first, and ends at the request's deadline.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::sqlite::memory::Account;
use crate::sqlite::{Form, Mode, Rows, SqliteConnection, SqliteError, Statement, Watch, bind_all};
use ruby_native::tree::{Tree, count};
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Databases that one interpreter may have open.
const DATABASES_MAX: usize = 64;
/// Prepared statements for which Ruby may hold an object.
const STATEMENTS_MAX: usize = 1024;
/// Bytes that a handle counts towards the interpreter's memory limit, beside SQLite's own memory.
const HANDLE_BYTES: usize = 256;

fn database(context: &mut Context<'_>, handle: Arg<'_>) -> Result<Rc<SqliteConnection>, Raise> {
    let closed = |_| raise("ArgumentError", "prepare called on a closed database");
    context.handles.get::<Rc<SqliteConnection>>(handle.handle()?).cloned().map_err(closed)
}

fn statement<'a>(context: &'a mut Context<'_>, handle: Arg<'_>) -> Result<&'a mut Statement, Raise> {
    let closed = |_| raise("SQLite3::Exception", "cannot use a closed statement");
    context.handles.get::<Statement>(handle.handle()?).map_err(closed)
}

fn hold(context: &mut Context<'_>, statement: Statement) -> Outcome {
    Ok(Value::Handle(context.handles.hold_one_of(STATEMENTS_MAX, statement)?, HANDLE_BYTES))
}

/// Starts a call on a database: migrates to a runner and sets the deadline of the watch.
fn begin(context: &mut Context<'_>, handle: Arg<'_>) -> Result<Rc<SqliteConnection>, Raise> {
    context.work.migrate();
    let connection = database(context, handle)?;
    connection.watch.allow(context.work.until());
    Ok(connection)
}

/// The exception for an error of SQLite, or for the deadline that caused it.
fn failed(context: &mut Context<'_>, error: SqliteError) -> Raise {
    let late = if error.is_of_watch() { context.work.overdue() } else { None };
    late.unwrap_or_else(|| error.raise())
}

/// An Array of `first` and the rows.
fn piece(first: &Tree, rows: &Rows) -> Value {
    let mut out = Vec::with_capacity(rows.bytes.len() + 64);
    count(&mut out, b'a', rows.count + 1);
    first.encode(&mut out);
    out.extend_from_slice(&rows.bytes);
    Value::Tree(out)
}

/// `sqlite_open(path, mode)`: opens a database and returns a handle. Mode 0 is to read, 1 to write, 2 to create it.
pub fn open(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let given = arg(args, 0).path()?;
    let mode = match arg(args, 1).int()? {
        0 => Mode::ReadOnly,
        1 => Mode::ReadWrite,
        _ => Mode::Create,
    };
    let in_memory = given == Path::new(":memory:") || given.as_os_str().is_empty();
    let found = if in_memory { None } else { Some(context.folders.database(given, mode != Mode::ReadOnly)?) };
    // Opening a named pipe would block.
    if found.as_ref().and_then(|found| found.metadata().ok()).is_some_and(|meta| !meta.is_file()) {
        return Err(raise("SQLite3::CantOpenException", format!("{} is no file", given.display())));
    }
    context.work.migrate();
    let watch = Watch::new(context.work.end(), context.folders.clone());
    watch.allow(context.work.until());
    let account = context.handles.own(|| Account::new(context.memory_bytes)).clone();
    let opened = SqliteConnection::open(found.as_deref(), mode, watch, &account);
    let connection = opened.map_err(|error| failed(context, error))?;
    Ok(Value::Handle(context.handles.hold_one_of(DATABASES_MAX, connection)?, HANDLE_BYTES))
}

fn form(arg: Arg<'_>) -> Form {
    if arg.truthy() { Form::Hashes } else { Form::Arrays }
}

/// The values of an argument; a String of bytes, alone or in an Array or Hash, is [`Tree::Bytes`].
fn values(arg: Arg<'_>) -> Result<Tree, Raise> {
    Tree::decode_marked(&arg.tree()).map_err(|error| raise("ArgumentError", error.to_string()))
}

/// `sqlite_execute(database, sql, values, as_hashes, with_columns)`: runs the first statement of `sql`. Returns
/// `[columns or nil, row, …]`; a handle of the statement where there are more rows than fit in one piece; nil where the
/// SQL is empty.
pub fn execute(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let connection = begin(context, arg(args, 0))?;
    let sql = arg(args, 1).bytes()?;
    let values = values(arg(args, 2))?;
    let form = form(arg(args, 3));
    let Some(mut statement) = connection.statement(sql).map_err(|error| failed(context, error))? else {
        return Ok(Value::Nil);
    };
    bind_all(&statement, &values).map_err(|error| failed(context, error))?;
    let rows = statement.fetch(form, usize::MAX).map_err(|error| failed(context, error))?;
    if !rows.is_done {
        statement.pending = Some(rows);
        return hold(context, statement);
    }
    let columns = if arg(args, 4).truthy() { columns(&statement) } else { Tree::Nil };
    Ok(piece(&columns, &rows))
}

fn columns(statement: &Statement) -> Tree {
    Tree::Array(statement.columns().into_iter().map(Tree::Str).collect())
}

/// `sqlite_prepare(database, sql)`: a handle of the first statement of `sql`; nil where the SQL is empty.
pub fn prepare(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let connection = begin(context, arg(args, 0))?;
    match connection.fresh_statement(arg(args, 1).bytes()?).map_err(|error| failed(context, error))? {
        Some(statement) => hold(context, statement),
        None => Ok(Value::Nil),
    }
}

/// `sqlite_used(statement)`: bytes of the SQL that belong to this statement; the next one follows.
pub fn used(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(statement(context, arg(args, 0))?.used as i64))
}

/// `sqlite_bind(statement, position or name, value)` binds one value, `sqlite_bind(statement, nil, values)` all values,
/// and `sqlite_bind(statement)` removes all.
pub fn bind(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let statement = statement(context, arg(args, 0))?;
    let bound = if args.len() < 2 {
        statement.clear();
        Ok(())
    } else if arg(args, 1) == Arg::Nil {
        bind_all(statement, &values(arg(args, 2))?)
    } else {
        statement.bind(&values(arg(args, 1))?, &values(arg(args, 2))?)
    };
    bound.map(|()| Value::Nil).map_err(SqliteError::raise)
}

/// `sqlite_fetch(statement, as_hashes, most or nil)`: the next rows as `[whether they are the last, row, …]`.
pub fn fetch(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.work.migrate();
    let until = context.work.until();
    let most = match arg(args, 2) {
        Arg::Nil => usize::MAX,
        most => usize::try_from(most.int()?).unwrap_or(0),
    };
    let statement = statement(context, arg(args, 0))?;
    statement.connection().watch.allow(until);
    let rows = statement.fetch(form(arg(args, 1)), most).map_err(|error| failed(context, error))?;
    Ok(piece(&Tree::Bool(rows.is_done), &rows))
}

/// `sqlite_reset(statement)`: makes the statement start again at its first row.
pub fn reset(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    statement(context, arg(args, 0))?.reset();
    Ok(Value::Nil)
}

/// `sqlite_about(statement)`: `[columns, declared types, number of parameters, whether it only reads, whether it is
/// done]`.
pub fn about(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let statement = statement(context, arg(args, 0))?;
    let texts = |text: Option<Vec<u8>>| text.map_or(Tree::Nil, Tree::Str);
    let about = Tree::Array(vec![
        columns(statement),
        Tree::Array(statement.types().into_iter().map(texts).collect()),
        Tree::Int(statement.parameters().into()),
        Tree::Bool(statement.is_read_only()),
        Tree::Bool(statement.is_done()),
    ]);
    Ok(Value::Tree(about.encoded()))
}

/// `sqlite_tell(database)`: `[changes, total changes, last inserted rowid, whether a transaction is under way]`.
pub fn tell(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let connection = database(context, arg(args, 0))?;
    let state = Tree::Array(vec![
        Tree::Int(connection.changes()),
        Tree::Int(connection.total_changes()),
        Tree::Int(connection.last_insert_rowid()),
        Tree::Bool(connection.is_in_transaction()),
    ]);
    Ok(Value::Tree(state.encoded()))
}

/// `sqlite_busy(database, milliseconds)`: sets the time that a statement waits for a lock.
pub fn busy(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let milliseconds = u64::try_from(arg(args, 1).int()?).unwrap_or(0);
    let connection = database(context, arg(args, 0))?;
    connection.watch.set_busy(Duration::from_millis(milliseconds));
    Ok(Value::Nil)
}

/// `sqlite_version`: the version of SQLite, such as `3.50.2`.
pub fn version(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(libsqlite3_sys::SQLITE_VERSION.to_bytes().to_vec()))
}
