//! The safe owner of one interpreter: open it, load the application, call it, close it.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::ptr::NonNull;

use engine::{AppError, Request};
use ruby_native::Native;

use crate::environment::Environment;
use crate::host::Host;
use crate::native;
use crate::prelude;
use mruby_sys::{self as sys, FgNative, FgVm};

/// State of an interpreter after a call; the answer itself was sent through the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The interpreter can serve the next request.
    Well,
    /// A request was interrupted, whether or not the application rescued that: the interpreter's objects may be
    /// half-changed, so it is replaced.
    Stopped,
    /// A request met the memory limit, whether or not the application rescued that; the interpreter is replaced, too.
    OutOfMemory,
}

/// An open interpreter with the application loaded.
pub struct Vm {
    vm: NonNull<FgVm>,
    host: NonNull<Host>,
    environment: Environment,
}

// SAFETY: an interpreter has no tie to a thread (mruby keeps all its state in what it was opened with); only that two
// threads never use it at once matters, and `Vm` is owned by one at a time.
unsafe impl Send for Vm {}

/// Held while an interpreter is opened, since mruby uses global state for that. True once the hash function of strings
/// has its seed.
static OPENING: parking_lot::Mutex<bool> = parking_lot::Mutex::new(false);

fn seed() {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_ok() {
        // SAFETY: a plain store, under the lock that every opening of an interpreter takes, before the first of them.
        unsafe { sys::fg_seed(u64::from_ne_bytes(bytes)) };
    }
}

impl Vm {
    /// Opens an interpreter and loads the application into it. `host` must outlive it.
    ///
    /// Returns an exception that the application raised while it was loaded.
    pub fn open(host: NonNull<Host>, memory_bytes: usize, rackup: &Path) -> Result<Vm, Box<AppError>> {
        let mut seeded = OPENING.lock();
        if !*seeded {
            seed();
            *seeded = true;
        }
        // SAFETY: the host pointer stays valid until fg_vm_close, by the contract of this function.
        let opened = NonNull::new(unsafe { sys::fg_vm_open(host.as_ptr().cast(), memory_bytes) });
        drop(seeded);
        let Some(vm) = opened else { return Err(no_memory(memory_bytes)) };
        let vm = Vm { vm, host, environment: Environment::new(vm) };
        vm.connect();
        for (index, code) in prelude::compiled(|name, source| vm.compile(source, name))?.iter().enumerate() {
            if index == prelude::BEFORE_NATIVES {
                vm.define_natives();
            }
            vm.run(code)?;
        }
        vm.start(rackup)?;
        Ok(vm)
    }

    fn connect(&self) {
        // SAFETY: the interpreter is open.
        let deadline_timer = unsafe { sys::fg_vm_deadline_timer(self.vm.as_ptr()) };
        // SAFETY: the host is alive, and this thread is the only one to use it.
        unsafe { self.host.as_ref() }.run_state.connect(Some(deadline_timer));
    }

    fn define_natives(&self) {
        let mut rows: Vec<FgNative> = native::LIBRARIES.iter().flat_map(|rows| rows.iter()).map(face).collect();
        rows.extend(native::OWN.iter().map(face));
        // SAFETY: the rows live until the call returns, and their strings for ever.
        unsafe { sys::fg_vm_define(self.vm.as_ptr(), rows.as_ptr(), rows.len()) };
    }

    fn compile(&self, source: &str, name: &CStr) -> Result<Vec<u8>, Box<AppError>> {
        // SAFETY: pointer and length are those of `source`; the name ends in NUL.
        let ended =
            unsafe { sys::fg_vm_compile(self.vm.as_ptr(), source.as_ptr().cast(), source.len(), name.as_ptr()) };
        self.loaded(ended)?;
        let mut host = self.host;
        // SAFETY: the host is alive, and this thread is the only one to use it.
        Ok(unsafe { host.as_mut() }.take_compiled())
    }

    fn run(&self, code: &[u8]) -> Result<(), Box<AppError>> {
        // SAFETY: the code was compiled by this very library, and lives until the call returns.
        let ended = unsafe { sys::fg_vm_run(self.vm.as_ptr(), code.as_ptr().cast(), code.len()) };
        self.loaded(ended)
    }

    fn start(&self, rackup: &Path) -> Result<(), Box<AppError>> {
        let path = rackup.as_os_str().as_encoded_bytes();
        // SAFETY: pointer and length are those of `path`.
        let ended = unsafe { sys::fg_vm_start(self.vm.as_ptr(), path.as_ptr().cast(), path.len()) };
        self.loaded(ended)
    }

    fn loaded(&self, ended: i32) -> Result<(), Box<AppError>> {
        let mut host = self.host;
        // SAFETY: the host is alive, and this thread is the only one to use it.
        let host = unsafe { host.as_mut() };
        // SAFETY: the interpreter is open and does not run.
        unsafe { sys::fg_vm_reset(self.vm.as_ptr()) };
        let settings = &host.shared.settings;
        match ended {
            sys::DONE => Ok(()),
            sys::NO_MEMORY => Err(no_memory(settings.memory_bytes)),
            sys::STOPPED => Err(Box::new(AppError {
                class: "FoolsGold::RequestTimeout".into(),
                message: format!("the application was not loaded within {:?} (--boot-time)", settings.boot_time),
                causes: Vec::new(),
                backtrace: host.take_trace(),
            })),
            _ => Err(Box::new(host.error.take().unwrap_or_default())),
        }
    }

    /// Runs the application on the request in the host's `writer`; the answer is sent through the host.
    pub fn call(&mut self, request: *const Request) -> Ended {
        // SAFETY: the caller's request lies in the host's writer, which stays where it is during the call; nothing
        // but its body is read by natives meanwhile.
        let request = unsafe { &*request };
        let vm = self.vm;
        let ended = self.environment.with(vm, request, |request| {
            // SAFETY: what the request points to is not touched during the call.
            unsafe { sys::fg_vm_call(vm.as_ptr(), request) }
        });
        // SAFETY: the interpreter is open and does not run.
        let limit = unsafe { sys::fg_vm_hit_limit(self.vm.as_ptr()) };
        // SAFETY: the call has ended and no other thread uses this interpreter; the flags that this clears were read
        // before.
        unsafe { sys::fg_vm_reset(self.vm.as_ptr()) };
        let reason = if limit == sys::DONE { ended } else { limit };
        match reason {
            sys::STOPPED => Ended::Stopped,
            sys::NO_MEMORY => Ended::OutOfMemory,
            _ => Ended::Well,
        }
    }

    /// Bytes of memory the interpreter holds.
    pub fn used_bytes(&self) -> usize {
        // SAFETY: the interpreter is open.
        unsafe { sys::fg_vm_used(self.vm.as_ptr()) }
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // SAFETY: the host is alive, and this thread is the only one to use it.
        unsafe { self.host.as_ref() }.run_state.connect(None::<*mut c_void>);
        // SAFETY: the interpreter is open and does not run; `self` owns it and is gone after this.
        unsafe { sys::fg_vm_close(self.vm.as_ptr()) };
    }
}

fn face<R>(row: &Native<R>) -> FgNative {
    FgNative {
        owner: row.owner.as_ptr(),
        name: row.name.as_ptr(),
        method: row.method,
        receiver: row.receiver,
        json: row.json,
    }
}

fn no_memory(bytes: usize) -> Box<AppError> {
    let message = format!("the application does not fit into the {bytes} bytes of an interpreter (--memory-limit)");
    Box::new(AppError { class: "NoMemoryError".into(), message, ..AppError::default() })
}

/// The interpreter's name and version, such as `mruby 3.3.0`.
pub fn version() -> String {
    // SAFETY: a string constant of the library.
    unsafe { CStr::from_ptr(sys::fg_version()) }.to_string_lossy().into_owned()
}

/// Lists what the linked mruby cannot do where it was not built by `bin/setup`; empty for the one that was.
pub fn lacks() -> Vec<String> {
    let mut lacks = Vec::new();
    // SAFETY: both functions only return a constant.
    let (can_stop, can_rescue) = unsafe { (sys::fg_can_stop() != 0, sys::fg_can_rescue() != 0) };
    if !can_stop {
        lacks.push("a script that runs for ever cannot be stopped (mruby was built without MRB_USE_DEBUG_HOOK)".into());
    }
    if !can_rescue {
        lacks.push("`$!`, a bare `raise` and Exception#cause do not work (mruby was built without our patch)".into());
    }
    lacks
}
