//! Prepared statements: values are bound and rows are fetched in pieces of limited size.

use std::ffi::{CStr, CString, c_int};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::slice;

use libsqlite3_sys as ffi;

use super::error::{SqliteError, WRONG_TYPE};
use super::memory::counted;
use super::{CACHE_SQL_BYTES, SqliteConnection};
use ruby_native::tree::{Tree, count, counted as counted_bytes};

/// Bytes of rows after which a piece ends. Ruby's objects for them count towards the interpreter's memory limit.
const PIECE_BYTES: usize = 256 << 10;

/// The class of a row in Ruby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each row is an Array of values.
    Arrays,
    /// Each row is a Hash from column names to values.
    Hashes,
}

/// Consecutive rows of a result.
#[derive(Default)]
pub struct Rows {
    /// The encoded trees of the rows, one behind the other.
    pub bytes: Vec<u8>,
    /// Number of rows.
    pub count: usize,
    /// Whether these are the last rows of the result.
    pub is_done: bool,
}

/// A prepared statement and its state.
pub struct Statement {
    connection: Rc<SqliteConnection>,
    raw: NonNull<ffi::sqlite3_stmt>,
    /// Bytes of the SQL text that belong to this statement.
    pub used: usize,
    /// The SQL under which the connection keeps the statement when it is dropped; None where it does not.
    kept_as: Option<Vec<u8>>,
    is_done: bool,
    /// Rows that were read and that the next fetch returns.
    pub pending: Option<Rows>,
}

impl SqliteConnection {
    /// The first statement of `sql`, taken from the kept ones or prepared; None where the SQL is empty.
    ///
    /// A kept statement notices a changed schema in its first step: until then its columns may be wrong.
    pub fn statement(self: &Rc<SqliteConnection>, sql: &[u8]) -> Result<Option<Statement>, SqliteError> {
        match self.kept(sql) {
            Some(raw) => Ok(Some(Statement::new(self.clone(), raw, sql.len(), Some(sql.to_vec())))),
            None => self.new_statement(sql),
        }
    }

    /// The first statement of `sql`, prepared now, so that its columns are right before its first step too.
    pub fn fresh_statement(self: &Rc<SqliteConnection>, sql: &[u8]) -> Result<Option<Statement>, SqliteError> {
        if let Some(old) = self.kept(sql) {
            self.finalize(old);
        }
        self.new_statement(sql)
    }

    fn kept(&self, sql: &[u8]) -> Option<NonNull<ffi::sqlite3_stmt>> {
        let mut cache = self.cache.borrow_mut();
        let at = cache.iter().position(|(text, _)| text == sql)?;
        Some(cache.remove(at).1)
    }

    fn new_statement(self: &Rc<SqliteConnection>, sql: &[u8]) -> Result<Option<Statement>, SqliteError> {
        if let Some(answer) = self.watch.busy_pragma(sql) {
            let (raw, _) = self.prepare(answer.as_bytes(), false)?;
            return Ok(raw.map(|raw| Statement::new(self.clone(), raw, sql.len(), None)));
        }
        let may_last = sql.len() <= CACHE_SQL_BYTES;
        let (raw, used) = self.prepare(sql, may_last)?;
        let name = (may_last && used == sql.len()).then(|| sql.to_vec());
        Ok(raw.map(|raw| Statement::new(self.clone(), raw, used, name)))
    }

    /// Resets statements and rolls back a transaction that the finished request has left open, so that no lock is held.
    /// Returns whether there was a transaction.
    pub fn roll_back(self: &Rc<SqliteConnection>) -> bool {
        counted(&self.account, || {
            let mut at = ptr::null_mut();
            loop {
                // SAFETY: the connection is open, and the statement before was its own.
                at = unsafe { ffi::sqlite3_next_stmt(self.raw.as_ptr(), at) };
                if at.is_null() {
                    break;
                }
                // SAFETY: the statement is one of this connection.
                unsafe {
                    if ffi::sqlite3_stmt_busy(at) != 0 {
                        ffi::sqlite3_reset(at);
                    }
                }
            }
        });
        if !self.is_in_transaction() {
            return false;
        }
        self.watch.allow_a_moment();
        if let Ok(Some(mut statement)) = self.statement(b"ROLLBACK") {
            // Where it fails, SQLite has already rolled back.
            let _ = statement.fetch(Form::Arrays, 1);
        }
        true
    }
}

impl Statement {
    fn new(
        connection: Rc<SqliteConnection>,
        raw: NonNull<ffi::sqlite3_stmt>,
        used: usize,
        kept_as: Option<Vec<u8>>,
    ) -> Statement {
        Statement { connection, raw, used, kept_as, is_done: false, pending: None }
    }

    /// The connection of the statement.
    pub fn connection(&self) -> &Rc<SqliteConnection> {
        &self.connection
    }

    /// Binds one value by position (from 1) or name. A blob comes as a String of bytes, or as an Array with one String.
    pub fn bind(&self, key: &Tree, value: &Tree) -> Result<(), SqliteError> {
        let at = match key {
            Tree::Int(at) => c_int::try_from(*at).unwrap_or(0),
            Tree::Str(name) | Tree::Sym(name) | Tree::Bytes(name) => self.place(name),
            _ => 0,
        };
        if at == 0 {
            return Err(SqliteError { code: 0, message: "no such bind parameter".to_owned() });
        }
        let raw = self.raw.as_ptr();
        // SAFETY: the statement is live; SQLite copies what it is given (SQLITE_TRANSIENT) before it returns.
        let code = counted(&self.connection.account, || unsafe {
            let copied = ffi::SQLITE_TRANSIENT();
            match value {
                Tree::Nil => ffi::sqlite3_bind_null(raw, at),
                Tree::Int(number) => ffi::sqlite3_bind_int64(raw, at, *number),
                Tree::Float(number) => ffi::sqlite3_bind_double(raw, at, *number),
                // As in the gem; SQLite has no larger integers.
                Tree::Raw(digits) => ffi::sqlite3_bind_double(raw, at, float(digits)),
                Tree::Str(bytes) if std::str::from_utf8(bytes).is_ok() => {
                    let text = bytes.as_ptr().cast();
                    let length = bytes.len() as u64;
                    ffi::sqlite3_bind_text64(raw, at, text, length, copied, ffi::SQLITE_UTF8 as u8)
                }
                Tree::Str(bytes) | Tree::Bytes(bytes) => {
                    ffi::sqlite3_bind_blob64(raw, at, start(bytes), bytes.len() as u64, copied)
                }
                Tree::Array(one) => match one.as_slice() {
                    [Tree::Str(bytes) | Tree::Bytes(bytes)] => {
                        ffi::sqlite3_bind_blob64(raw, at, start(bytes), bytes.len() as u64, copied)
                    }
                    _ => WRONG_TYPE,
                },
                _ => WRONG_TYPE,
            }
        });
        match code {
            WRONG_TYPE => Err(SqliteError { code, message: format!("can't prepare {}", class(value)) }),
            code => self.connection.check(code),
        }
    }

    fn place(&self, name: &[u8]) -> c_int {
        let prefix: &[u8] = if name.first().is_some_and(|first| b":@$".contains(first)) { b"" } else { b":" };
        let Ok(name) = CString::new([prefix, name].concat()) else { return 0 };
        // SAFETY: the statement is live, and the name ends in NUL.
        unsafe { ffi::sqlite3_bind_parameter_index(self.raw.as_ptr(), name.as_ptr()) }
    }

    /// Number of parameters.
    pub fn parameters(&self) -> c_int {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) }
    }

    /// Removes all bound values.
    pub fn clear(&mut self) {
        // SAFETY: the statement is live.
        counted(&self.connection.account, || unsafe { ffi::sqlite3_clear_bindings(self.raw.as_ptr()) });
    }

    /// Makes the next fetch start at the first row.
    pub fn reset(&mut self) {
        self.is_done = false;
        self.pending = None;
        // SAFETY: the statement is live. The result is ignored: it repeats the error of the last step.
        counted(&self.connection.account, || unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) });
    }

    /// Whether the last row has been fetched.
    pub fn is_done(&self) -> bool {
        self.is_done && self.pending.is_none()
    }

    /// The next rows, at most `most` and at most about `PIECE_BYTES`.
    pub fn fetch(&mut self, form: Form, most: usize) -> Result<Rows, SqliteError> {
        if let Some(rows) = self.pending.take() {
            return Ok(rows);
        }
        let mut rows = Rows { is_done: self.is_done, ..Rows::default() };
        let connection = self.connection.clone();
        counted(&connection.account, || {
            let mut names = None;
            while !rows.is_done && rows.count < most && rows.bytes.len() < PIECE_BYTES {
                // SAFETY: the statement is live.
                match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
                    ffi::SQLITE_ROW => {
                        let names = match form {
                            Form::Arrays => None,
                            Form::Hashes => Some(&*names.get_or_insert_with(|| self.columns())),
                        };
                        self.row(names.map(Vec::as_slice), &mut rows.bytes);
                        connection.has_memory()?;
                        rows.count += 1;
                    }
                    ffi::SQLITE_DONE => rows.is_done = true,
                    code => {
                        let error = connection.error(code);
                        // SAFETY: the statement is live.
                        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
                        return Err(error);
                    }
                }
            }
            Ok(())
        })?;
        self.is_done = rows.is_done;
        if self.is_done {
            // Releases the locks now, and not when the statement is used again.
            // SAFETY: the statement is live.
            counted(&connection.account, || unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) });
        }
        Ok(rows)
    }

    fn row(&self, names: Option<&[Vec<u8>]>, out: &mut Vec<u8>) {
        // SAFETY: the statement is live and has a row.
        let columns = unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) };
        let number = usize::try_from(columns).unwrap_or(0);
        count(out, if names.is_some() { b'h' } else { b'a' }, number);
        for column in 0..columns {
            if let Some(name) = names.and_then(|names| names.get(column as usize)) {
                counted_bytes(out, b's', name);
            }
            self.value(column, out);
        }
    }

    fn value(&self, column: c_int, out: &mut Vec<u8>) {
        let raw = self.raw.as_ptr();
        // SAFETY: the statement is live and has a row with this column; its bytes live until the next step, and are
        // copied at once.
        unsafe {
            match ffi::sqlite3_column_type(raw, column) {
                ffi::SQLITE_INTEGER => Tree::Int(ffi::sqlite3_column_int64(raw, column)).encode(out),
                ffi::SQLITE_FLOAT => Tree::Float(ffi::sqlite3_column_double(raw, column)).encode(out),
                ffi::SQLITE_NULL => Tree::Nil.encode(out),
                kind => {
                    let text = kind == ffi::SQLITE_TEXT;
                    let bytes = if text {
                        ffi::sqlite3_column_text(raw, column)
                    } else {
                        ffi::sqlite3_column_blob(raw, column).cast()
                    };
                    let length = usize::try_from(ffi::sqlite3_column_bytes(raw, column)).unwrap_or(0);
                    let bytes = if bytes.is_null() { &[] } else { slice::from_raw_parts(bytes, length) };
                    counted_bytes(out, if text { b's' } else { b'b' }, bytes);
                }
            }
        }
    }

    /// Names of the columns of the result.
    pub fn columns(&self) -> Vec<Vec<u8>> {
        // SAFETY: the statement is live; SQLite's text ends in NUL and is copied at once.
        self.each_column(|raw, column| unsafe { ffi::sqlite3_column_name(raw, column) })
            .map(Option::unwrap_or_default)
            .collect()
    }

    /// Declared types of the columns; None for an expression.
    pub fn types(&self) -> Vec<Option<Vec<u8>>> {
        // SAFETY: the statement is live and `column` is below its number of columns; `each_column` checks for NULL (an
        // expression has no declared type), and copies the text before SQLite can change it.
        self.each_column(|raw, column| unsafe { ffi::sqlite3_column_decltype(raw, column) }).collect()
    }

    fn each_column(
        &self,
        ask: impl Fn(*mut ffi::sqlite3_stmt, c_int) -> *const std::ffi::c_char,
    ) -> impl Iterator<Item = Option<Vec<u8>>> {
        let raw = self.raw.as_ptr();
        // SAFETY: the statement is live.
        let columns = unsafe { ffi::sqlite3_column_count(raw) };
        (0..columns).map(move |column| {
            let text = ask(raw, column);
            // SAFETY: a text of SQLite's ends in NUL.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
        })
    }

    /// Whether the statement only reads.
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw.as_ptr()) != 0 }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        self.reset();
        match self.kept_as.take() {
            Some(sql) => {
                self.clear();
                self.connection.keep(sql, self.raw);
            }
            None => self.connection.finalize(self.raw),
        }
    }
}

fn start(bytes: &[u8]) -> *const std::ffi::c_void {
    // A null pointer would bind NULL; a slice's start never is one.
    bytes.as_ptr().cast()
}

/// The Float nearest to an Integer in decimal digits.
fn float(digits: &[u8]) -> f64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(f64::NAN)
}

/// The class of a value that cannot be bound.
fn class(value: &Tree) -> &'static str {
    match value {
        Tree::Bool(true) => "TrueClass",
        Tree::Bool(false) => "FalseClass",
        Tree::Nil => "NilClass",
        Tree::Int(_) | Tree::Raw(_) => "Integer",
        Tree::Float(_) => "Float",
        Tree::Str(_) | Tree::Bytes(_) => "String",
        Tree::Sym(_) => "Symbol",
        Tree::Array(_) => "Array",
        Tree::Hash(_) => "Hash",
    }
}

/// Binds all values of a call: items of an Array by position, pairs of a Hash by name, in any mixture.
pub fn bind_all(statement: &Statement, values: &Tree) -> Result<(), SqliteError> {
    let mut next = 1;
    let items = match values {
        Tree::Array(items) => items.as_slice(),
        one => slice::from_ref(one),
    };
    for item in items {
        if let Tree::Hash(pairs) = item {
            pairs.iter().try_for_each(|(key, value)| statement.bind(key, value))?;
        } else {
            statement.bind(&Tree::Int(next), item)?;
            next += 1;
        }
    }
    Ok(())
}
