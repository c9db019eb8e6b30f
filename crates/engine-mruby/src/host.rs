//! The functions of one interpreter that C calls. Each does plain work and returns; none calls back into the
//! interpreter, and none lets a panic out.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::Instant;

use engine::body::SendError;
use engine::{AppError, Fault, Overrun, Request};

use crate::failure::{interrupted, log_unseen, push_frame, trace};
use crate::native::{self, Call, Running};
use crate::prelude::{self, Library};
use crate::response_writer::{ResponseWriter, app_fault};
use crate::run_state::{Clock, RunState};
use crate::shared::Shared;
use crate::timers::Timers;
use mruby_sys::{self as sys, FgValue, tag};
use ruby_native::{ARGUMENTS_MAX, Arg, Folders, Handles, Value};

/// Bytes of arguments from which a native function runs in a runner, never on an I/O thread.
const LARGE_BYTES: usize = 256 << 10;

/// Ticks for which the searches of an interrupted request may go on, so that its `ensure` clauses can use patterns;
/// each stands for some thousand steps of a search. For instructions, C has a grace of its own (guard.c).
const LATE_TICKS: u32 = 100;

/// Rust's state of one interpreter, whose address C passes to each function of this file.
pub struct Host {
    /// State shared by all interpreters of the engine.
    pub shared: Arc<Shared>,
    /// The run state that the watchdog reads.
    pub run_state: Arc<RunState>,
    /// The clock of the run state and of all deadlines in it.
    pub clock: Clock,
    /// The response writer of the request under way; None between requests and while the application is loaded.
    pub writer: Option<ResponseWriter>,
    /// The last exception that C reported, until it is taken.
    pub error: Option<AppError>,
    /// Time limits of the blocks that run (Timeout.timeout).
    pub timers: Timers,
    /// Rust values that belong to objects of the interpreter, such as database connections.
    pub handles: Handles,
    /// Folders in which the application may open files.
    pub folders: Folders,
    /// Ticks since the request was interrupted; None while it was not.
    late_ticks: Option<u32>,
    /// Bytes that C reads after a call: the last result of a native function, or the last bytecode.
    out: Vec<u8>,
}

impl Host {
    /// The host for an interpreter that is about to be opened.
    pub fn new(shared: Arc<Shared>, run_state: Arc<RunState>, clock: Clock) -> Host {
        Host {
            shared,
            run_state,
            clock,
            writer: None,
            error: None,
            timers: Timers::default(),
            handles: Handles::default(),
            folders: Folders::default(),
            late_ticks: None,
            out: Vec::new(),
        }
    }

    /// Forgets the time limits of what ran before, and whether it was interrupted.
    pub fn reset(&mut self) {
        self.timers.clear();
        self.late_ticks = None;
    }

    /// Takes the bytecode that fg_vm_compile has produced.
    pub fn take_compiled(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Takes the backtrace of the place where the script was interrupted.
    pub fn take_trace(&mut self) -> Vec<String> {
        trace(self.error.take())
    }

    /// Answers the deadline timer: `GO_ON`, `STOP` or `EXPIRED` of `sys`. A request that turns out to be long migrates
    /// to a runner here.
    pub fn tick(&mut self) -> c_int {
        if let Some(ticks) = &mut self.late_ticks {
            *ticks = ticks.saturating_add(1);
            return if *ticks <= LATE_TICKS { sys::GO_ON } else { sys::STOP };
        }
        if !self.run_state.is_late(self.clock.at(Instant::now())) {
            if self.writer.as_mut().is_some_and(|writer| !writer.has_worked_long()) {
                return self.expired();
            }
            self.run_state.set_ticked();
            if let Some(writer) = &mut self.writer {
                writer.migrate();
                // A client that has gone away is noticed by the next write, where an exception can be raised.
                let _ = writer.hurry();
            }
        }
        if !self.run_state.is_late(self.clock.at(Instant::now())) {
            return self.expired();
        }
        self.late_ticks = Some(0);
        sys::STOP
    }

    fn expired(&mut self) -> c_int {
        let now = self.clock.at(Instant::now());
        if !self.timers.expire(now) {
            return sys::GO_ON;
        }
        self.run_state.set_soon(self.timers.next());
        sys::EXPIRED
    }

    fn call_native(&mut self, index: usize, args: &[Arg<'_>], result: &mut FgValue) {
        // Work on so many bytes takes a while, during which no other request of the I/O thread should wait.
        if args.iter().map(|arg| arg.size()).sum::<usize>() >= LARGE_BYTES
            && let Some(writer) = &mut self.writer
        {
            writer.migrate();
        }
        let work = Running {
            writer: self.writer.as_mut(),
            timers: &mut self.timers,
            run_state: &self.run_state,
            clock: self.clock,
        };
        let mut call = Call { shared: &self.shared, handles: &mut self.handles, folders: &self.folders, work };
        match native::run(index, &mut call, args) {
            Ok(value) => self.give(value, result),
            Err(raise) => {
                self.out = raise.message.into_bytes();
                result.tag = tag::ERROR;
                result.klass = raise.class.as_ptr().cast();
                result.klass_length = raise.class.len();
                self.point_at_out(result);
            }
        }
    }

    fn give(&mut self, value: Value, result: &mut FgValue) {
        result.tag = match value {
            Value::Nil => tag::NIL,
            Value::Bool(false) => tag::FALSE,
            Value::Bool(true) => tag::TRUE,
            Value::Int(number) => {
                result.integer = number;
                tag::INT
            }
            Value::Float(number) => {
                result.number = number;
                tag::FLOAT
            }
            Value::Str(bytes) => {
                self.out = bytes;
                tag::STR
            }
            Value::Bytes(bytes) => {
                self.out = bytes;
                tag::BYTES
            }
            Value::Handle(number, bytes) => {
                result.integer = number as i64;
                result.length = bytes;
                result.tag = tag::HANDLE;
                return;
            }
            Value::Tree(bytes) => {
                self.out = bytes;
                tag::TREE
            }
        };
        self.point_at_out(result);
    }

    /// Puts a text into `result`. It lives until the next call that gives C a text.
    pub fn give_text(&mut self, text: &str, result: &mut FgValue) {
        self.out = text.as_bytes().to_vec();
        self.point_at_out(result);
    }

    fn point_at_out(&self, result: &mut FgValue) {
        result.bytes = self.out.as_ptr().cast();
        result.length = self.out.len();
    }
}

/// Runs `work` on the host behind a pointer from C, and returns `otherwise` where it panics: a panic must not unwind
/// into C.
pub fn with<T>(host: *mut c_void, otherwise: T, work: impl FnOnce(&mut Host) -> T) -> T {
    // SAFETY: C hands back the pointer given to fg_vm_open, which is that of a boxed Host that outlives the
    // interpreter, and only the thread that runs the interpreter gets here.
    let host = unsafe { &mut *host.cast::<Host>() };
    catch_unwind(AssertUnwindSafe(|| work(host))).unwrap_or(otherwise)
}

/// The bytes of a Ruby string that C passes by start and length; empty for NULL.
pub fn bytes<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: C passes the start and length of a live Ruby string, which nothing changes before we return.
    unsafe { slice::from_raw_parts(start.cast(), length) }
}

/// The text of a Ruby string that C passes; invalid UTF-8 becomes U+FFFD.
pub fn text(start: *const c_char, length: usize) -> String {
    String::from_utf8_lossy(bytes(start, length)).into_owned()
}

fn sent(result: Result<(), SendError>) -> c_int {
    match result {
        Ok(()) => sys::SENT,
        Err(SendError::Gone) => sys::GONE,
        Err(SendError::Late) => sys::LATE,
    }
}

// SAFETY: c/fg.h declares this name with these types and nothing else defines it; call.c passes plain numbers.
#[unsafe(no_mangle)]
extern "C" fn fg_host_status(host: *mut c_void, status: i64) -> bool {
    with(host, false, |host| host.writer.as_mut().is_some_and(|writer| writer.status(status)))
}

// SAFETY: declared in c/fg.h with these types, defined only here. `take_header` in call.c passes the bytes of two
// Strings that are on Ruby's stack, and this function runs no Ruby that could change them.
#[unsafe(no_mangle)]
extern "C" fn fg_host_header(
    host: *mut c_void,
    name: *const c_char,
    name_length: usize,
    value: *const c_char,
    value_length: usize,
) -> bool {
    with(host, false, |host| {
        let writer = host.writer.as_mut();
        writer.is_some_and(|writer| writer.header(bytes(name, name_length), bytes(value, value_length)))
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. `refuse` in call.c passes the bytes of a String that
// it has just made and that only it knows.
#[unsafe(no_mangle)]
extern "C" fn fg_host_bad_answer(host: *mut c_void, why: *const c_char, length: usize) {
    with(host, (), |host| {
        if let Some(writer) = &mut host.writer {
            writer.bad.get_or_insert_with(|| text(why, length));
        }
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. `length` is a number, never an address.
#[unsafe(no_mangle)]
extern "C" fn fg_host_whole(host: *mut c_void, length: usize) {
    with(host, (), |host| {
        if let Some(writer) = &mut host.writer {
            writer.collect_whole(length);
        }
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. `put_chunk` in call.c passes the bytes of a String;
// they are copied before the request may change its thread, and no other thread runs this interpreter meanwhile.
#[unsafe(no_mangle)]
extern "C" fn fg_host_chunk(host: *mut c_void, chunk: *const c_char, length: usize) -> c_int {
    with(host, sys::GONE, |host| {
        host.writer.as_mut().map_or(sys::GONE, |writer| sent(writer.chunk(bytes(chunk, length))))
    })
}

// SAFETY: declared in c/fg.h with this type, defined only here. It takes the host alone, which `with` answers for.
#[unsafe(no_mangle)]
extern "C" fn fg_host_flush(host: *mut c_void) -> bool {
    with(host, false, |host| host.writer.as_mut().is_some_and(|writer| writer.hurry().is_ok()))
}

// SAFETY: declared in c/fg.h with these types, defined only here. `take_file` in call.c passes the bytes of a String of
// its own, and the path is not kept.
#[unsafe(no_mangle)]
extern "C" fn fg_host_file(host: *mut c_void, path: *const c_char, length: usize) -> bool {
    with(host, false, |host| {
        let path = Path::new(OsStr::from_bytes(bytes(path, length)));
        let Ok(found) = host.folders.readable(path) else { return false };
        host.writer.as_mut().is_some_and(|writer| writer.file(&found))
    })
}

// SAFETY: declared in c/fg.h with this type (`int` is `c_int`), defined only here. It reads the host and changes
// nothing.
#[unsafe(no_mangle)]
extern "C" fn fg_host_body(host: *mut c_void) -> c_int {
    with(host, 0, |host| host.writer.as_ref().map_or(0, ResponseWriter::known))
}

// SAFETY: declared in c/fg.h with this type, defined only here. It sets a flag of the request, behind the host's
// pointer.
#[unsafe(no_mangle)]
extern "C" fn fg_host_unasked(host: *mut c_void) {
    with(host, (), |host| {
        if let Some(writer) = &mut host.writer {
            writer.skip_body();
        }
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. `fg_vm_call` calls it after its guard has ended: no
// Ruby frame is left that could hold what `finish` and `fail` send away.
#[unsafe(no_mangle)]
extern "C" fn fg_host_answered(host: *mut c_void, ended: c_int) {
    with(host, (), |host| {
        let error = host.error.take();
        let limit = host.shared.settings.memory_bytes;
        let Some(writer) = &mut host.writer else { return };
        let fault = match (ended, writer.bad.take()) {
            (sys::DONE, None) => return writer.finish(),
            // The exception only followed from the refused answer.
            (sys::DONE | sys::RAISED, Some(why)) => Fault::BadAnswer(why),
            (sys::NO_MEMORY, _) => Fault::OutOfMemory(Overrun { limit, backtrace: trace(error) }),
            (sys::STOPPED, _) => interrupted(writer, error),
            _ => match error.as_ref().map(|error| error.class.as_str()) {
                Some("FoolsGold::ClientGone") => Fault::ClientGone,
                Some("FoolsGold::RequestTimeout") => interrupted(writer, error),
                _ => app_fault(error),
            },
        };
        if writer.has_lost_client() {
            log_unseen(&fault, &writer.request, host.shared.settings.app.as_deref());
        }
        writer.fail(fault);
    })
}

// SAFETY: declared in c/fg.h with this type, defined only here. guard.c calls it between two instructions, and its
// longjmp for FG_STOP and FG_EXPIRED starts after the return, so that it crosses no frame of Rust.
#[unsafe(no_mangle)]
extern "C" fn fg_host_tick(host: *mut c_void) -> c_int {
    with(host, sys::STOP, Host::tick)
}

// SAFETY: declared in c/fg.h with these types, and `FgValue` is `repr(C)` like `fg_value`; defined only here. An
// exception comes back as a value: the trampoline in native.c raises it after the return.
#[unsafe(no_mangle)]
extern "C" fn fg_host_native(host: *mut c_void, index: u32, args: *const FgValue, count: usize, result: *mut FgValue) {
    // SAFETY: C passes `count` values that live on its stack until we return, and a place for the result there.
    let (args, result) = unsafe { (if count == 0 { &[] } else { slice::from_raw_parts(args, count) }, &mut *result) };
    with(host, (), |host| {
        let mut plain = [Arg::Nil; ARGUMENTS_MAX];
        for (place, value) in plain.iter_mut().zip(args) {
            *place = argument(value);
        }
        host.call_native(index as usize, &plain[..args.len().min(ARGUMENTS_MAX)], result);
    })
}

fn argument(value: &FgValue) -> Arg<'_> {
    let text = || bytes(value.bytes, value.length);
    match value.tag {
        tag::FALSE => Arg::Bool(false),
        tag::TRUE => Arg::Bool(true),
        tag::INT => Arg::Int(value.integer),
        tag::FLOAT => Arg::Float(value.number),
        tag::STR => Arg::Str(text()),
        tag::BYTES => Arg::Bytes(text()),
        tag::SYM => Arg::Sym(text()),
        tag::TREE => Arg::Tree(text()),
        tag::HANDLE => Arg::Handle(value.integer as u64),
        _ => Arg::Nil,
    }
}

// SAFETY: declared in c/fg.h with these types, defined only here. It needs no host: the libraries belong to the
// process.
#[unsafe(no_mangle)]
extern "C" fn fg_host_library(
    name: *const c_char,
    length: usize,
    code: *mut *const c_char,
    is_code: *mut bool,
) -> usize {
    let library = catch_unwind(|| prelude::library(bytes(name, length))).unwrap_or(None);
    let Some(library) = library else { return 0 };
    let (text, compiled) = match library {
        Library::Compiled(code) => (code, true),
        Library::Source(source) => (source.as_bytes(), false),
    };
    // SAFETY: C passes places on its stack; the text is never freed.
    unsafe { (*code, *is_code) = (text.as_ptr().cast(), compiled) };
    text.len()
}

// SAFETY: declared in c/fg.h with these types, defined only here. `run_library` in load.c frees the bytecode only after
// the return, and what is kept is a copy.
#[unsafe(no_mangle)]
extern "C" fn fg_host_library_compiled(name: *const c_char, length: usize, code: *const c_char, size: usize) {
    // After a panic nothing is kept, and the next interpreter that requires the library compiles it again.
    let _ = catch_unwind(|| prelude::keep_library(bytes(name, length), bytes(code, size)));
}

// SAFETY: declared in c/fg.h with these types, defined only here. The garbage collector calls it, also while the
// interpreter is closed, and the host outlives that; a number that is not in the table is ignored.
#[unsafe(no_mangle)]
extern "C" fn fg_host_release(host: *mut c_void, number: u64) {
    with(host, (), |host| host.handles.release(number));
}

// SAFETY: declared in c/fg.h with these types, defined only here. `compile_body` in load.c frees the bytecode after the
// return, and this is a copy.
#[unsafe(no_mangle)]
extern "C" fn fg_host_compiled(host: *mut c_void, code: *const c_char, length: usize) {
    with(host, (), |host| host.out = bytes(code, length).to_vec());
}

// SAFETY: declared in c/fg.h with these types, defined only here. guard.c and trace.c pass a class's name and a message
// that live until the return; both are copied.
#[unsafe(no_mangle)]
extern "C" fn fg_host_error(
    host: *mut c_void,
    klass: *const c_char,
    klass_length: usize,
    message: *const c_char,
    message_length: usize,
) {
    with(host, (), |host| {
        let class = text(klass, klass_length);
        let message = text(message, message_length);
        host.error = Some(AppError { class, message, ..AppError::default() });
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. guard.c passes the bytes of a String and trace.c
// those of a buffer on its stack; both are copied.
#[unsafe(no_mangle)]
extern "C" fn fg_host_frame(host: *mut c_void, line: *const c_char, length: usize) {
    with(host, (), |host| {
        if let Some(error) = &mut host.error {
            let line = text(line, length);
            if line.starts_with(AppError::CAUSE) {
                error.causes.push(line)
            } else {
                push_frame(&mut error.backtrace, line)
            }
        }
    })
}

// SAFETY: declared in c/fg.h with these types, defined only here. Its two callers, both in call.c, pass string
// literals.
#[unsafe(no_mangle)]
extern "C" fn fg_host_late_error(host: *mut c_void, what: *const c_char) {
    // SAFETY: C passes a literal.
    let what = unsafe { CStr::from_ptr(what) }.to_string_lossy();
    with(host, (), |host| {
        let (Some(writer), Some(error)) = (&host.writer, host.error.take()) else { return };
        let app = host.shared.settings.app.as_deref();
        let Request { id, method, path, .. } = &*writer.request;
        let AppError { class, message, .. } = &error;
        let lines: String = error.lines().map(|line| format!("\n  {line}")).collect();
        tracing::error!(
            target: "app",
            id, %method, path, app,
            "request {id}, {method} {path}: {what}: {message} ({class}){lines}"
        );
    })
}
