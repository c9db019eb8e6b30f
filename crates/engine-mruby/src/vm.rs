//! The safe owner of one interpreter: open it, load the application, call it, close it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};

use engine::env::{self, Key};
use engine::{AppError, Request};
use foldhash::fast::RandomState;
use http::HeaderName;

use crate::host::Host;
use crate::native;
use crate::sys::{self, FgNative, FgPair, FgVm};

/// The Ruby side, in the order in which it is loaded.
const PRELUDE: [(&CStr, &str); 8] = [
    (c"foolsgold/errors.rb", include_str!("../ruby/errors.rb")),
    (c"foolsgold/kernel.rb", include_str!("../ruby/kernel.rb")),
    (c"foolsgold/require.rb", include_str!("../ruby/require.rb")),
    (c"foolsgold/stringio.rb", include_str!("../ruby/stringio.rb")),
    (c"foolsgold/library.rb", include_str!("../ruby/library.rb")),
    (c"foolsgold/objects.rb", include_str!("../ruby/objects.rb")),
    (c"foolsgold/rack.rb", include_str!("../ruby/rack.rb")),
    (c"foolsgold/start.rb", include_str!("../ruby/start.rb")),
];

/// Names of headers come from clients: remember this many keys, and make the others anew each time.
const HEADER_KEYS_MAX: usize = 256;

/// How a call ended; the answer itself has left through the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The interpreter can go on.
    Well,
    /// It was told to stop, or met its memory limit: what it holds now cannot be trusted.
    Spoilt,
}

/// An open interpreter with the application loaded.
pub struct Vm {
    vm: NonNull<FgVm>,
    host: NonNull<Host>,
    fixed: HashMap<&'static str, u32, RandomState>,
    headers: HashMap<HeaderName, u32, RandomState>,
    values: Vec<u8>,
    pairs: Vec<Pair>,
}

// SAFETY: an interpreter has no tie to a thread (mruby keeps all its state in what it was opened with); only that two
// threads never use it at once matters, and `Vm` is owned by one at a time.
unsafe impl Send for Vm {}

struct Pair {
    key: u32,
    name: Option<String>,
    begin: usize,
    end: usize,
}

/// Opening two interpreters at once is not safe: mruby has a little state of its own for that moment.
static OPENING: std::sync::Mutex<()> = std::sync::Mutex::new(());

impl Vm {
    /// Opens an interpreter and loads the application into it. `host` must outlive it.
    ///
    /// An exception while it loads comes back as the error.
    pub fn open(host: NonNull<Host>, memory_bytes: usize, rackup: &Path) -> Result<Vm, Box<AppError>> {
        let opening = OPENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the host pointer stays valid until fg_vm_close, by the contract of this function.
        let opened = NonNull::new(unsafe { sys::fg_vm_open(host.as_ptr().cast(), memory_bytes) });
        drop(opening);
        let Some(vm) = opened else { return Err(no_memory(memory_bytes)) };
        let vm = Vm {
            vm,
            host,
            fixed: HashMap::default(),
            headers: HashMap::default(),
            values: Vec::new(),
            pairs: Vec::new(),
        };
        vm.connect();
        vm.define()?;
        for (name, source) in PRELUDE {
            vm.load(source, name)?;
            if name == c"foolsgold/errors.rb" {
                vm.define_natives();
            }
        }
        vm.start(rackup)?;
        Ok(vm)
    }

    fn connect(&self) {
        // SAFETY: the interpreter is open.
        let alarm = unsafe { sys::fg_vm_alarm(self.vm.as_ptr()) };
        // SAFETY: the host is alive, and this thread is the only one to use it.
        unsafe { self.host.as_ref() }.gauge.connect(Some(alarm));
    }

    fn define(&self) -> Result<(), Box<AppError>> {
        self.load("module FoolsGold; module Native; end; end", c"foolsgold/native.rb")
    }

    fn define_natives(&self) {
        let rows: Vec<FgNative> = native::TABLE
            .iter()
            .map(|row| FgNative {
                owner: row.owner.as_ptr(),
                name: row.name.as_ptr(),
                method: row.method,
                json: row.json,
            })
            .collect();
        // SAFETY: the rows live until the call returns, and their strings for ever.
        unsafe { sys::fg_vm_define(self.vm.as_ptr(), rows.as_ptr(), rows.len()) };
    }

    fn load(&self, source: &str, name: &CStr) -> Result<(), Box<AppError>> {
        // SAFETY: pointer and length are those of `source`; the name ends in NUL.
        let ended =
            unsafe { sys::fg_vm_load(self.vm.as_ptr(), source.as_ptr().cast(), source.len(), name.as_ptr()) };
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
        unsafe { sys::fg_vm_calm(self.vm.as_ptr()) };
        match ended {
            sys::DONE => Ok(()),
            sys::NO_MEMORY => Err(no_memory(host.shared.memory_bytes)),
            sys::STOPPED => Err(Box::new(AppError {
                class: "FoolsGold::RequestTimeout".into(),
                message: "the application took too long to load".into(),
                backtrace: Vec::new(),
            })),
            _ => Err(Box::new(host.error.take().unwrap_or_default())),
        }
    }

    /// Runs the application on the request in the host's exchange; its answer leaves through the host.
    pub fn call(&mut self, request: *const Request) -> Ended {
        // SAFETY: the caller's request lies in the host's exchange, which stays where it is during the call; nothing
        // but its body is read by natives meanwhile.
        let request = unsafe { &*request };
        self.gather(request);
        let pairs = self.border_pairs();
        let id = request.id.as_bytes();
        // SAFETY: the pairs point into `self.values` and `self.pairs`, which nothing touches during the call.
        let ended = unsafe {
            sys::fg_vm_call(
                self.vm.as_ptr(),
                pairs.as_ptr(),
                pairs.len(),
                id.as_ptr().cast(),
                id.len(),
                !request.input.is_empty(),
            )
        };
        // SAFETY: the interpreter is open and does not run.
        let hit_limit = unsafe { sys::fg_vm_hit_limit(self.vm.as_ptr()) };
        // SAFETY: as above.
        unsafe { sys::fg_vm_calm(self.vm.as_ptr()) };
        if hit_limit || ended == sys::NO_MEMORY || ended == sys::STOPPED { Ended::Spoilt } else { Ended::Well }
    }

    fn gather(&mut self, request: &Request) {
        let mut values = std::mem::take(&mut self.values);
        let mut pairs = std::mem::take(&mut self.pairs);
        values.clear();
        pairs.clear();
        env::pairs(request, &mut |key, value| {
            let begin = values.len();
            values.extend_from_slice(value);
            let (key, name) = self.key(key);
            pairs.push(Pair { key, name, begin, end: begin + value.len() });
        });
        self.values = values;
        self.pairs = pairs;
    }

    fn key(&mut self, key: Key<'_>) -> (u32, Option<String>) {
        match key {
            Key::Fixed(name) => match self.fixed.get(name) {
                Some(index) => (*index, None),
                None => {
                    let index = self.new_key(name);
                    self.fixed.insert(name, index);
                    (index, (index == sys::NO_KEY).then(|| name.to_owned()))
                }
            },
            Key::Header(name) => {
                if let Some(index) = self.headers.get(name) {
                    return (*index, None);
                }
                let text = env::header_key(name);
                if self.headers.len() >= HEADER_KEYS_MAX {
                    return (sys::NO_KEY, Some(text));
                }
                let index = self.new_key(&text);
                if index == sys::NO_KEY {
                    return (index, Some(text));
                }
                self.headers.insert(name.clone(), index);
                (index, None)
            }
        }
    }

    fn new_key(&self, name: &str) -> u32 {
        // SAFETY: pointer and length are those of `name`.
        unsafe { sys::fg_vm_key(self.vm.as_ptr(), name.as_ptr().cast(), name.len()) }
    }

    fn border_pairs(&self) -> Vec<FgPair> {
        let border = |pair: &Pair| {
            let (name, name_length) = pair.name.as_ref().map_or((ptr::null(), 0), |name| (name.as_ptr(), name.len()));
            let value = &self.values[pair.begin..pair.end];
            FgPair {
                key: pair.key,
                name: name.cast(),
                name_length,
                bytes: value.as_ptr().cast(),
                length: value.len(),
            }
        };
        self.pairs.iter().map(border).collect()
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
        unsafe { self.host.as_ref() }.gauge.connect(None::<*mut c_void>);
        // SAFETY: the interpreter is open, does not run, and nobody uses it after this.
        unsafe { sys::fg_vm_close(self.vm.as_ptr()) };
    }
}

fn no_memory(bytes: usize) -> Box<AppError> {
    let message = format!("the application does not fit into the {bytes} bytes of an interpreter (--memory-limit)");
    Box::new(AppError { class: "NoMemoryError".into(), message, backtrace: Vec::new() })
}

/// The interpreter's name and version, such as `mruby 3.3.0`.
pub fn version() -> String {
    // SAFETY: a string constant of the library.
    unsafe { CStr::from_ptr(sys::fg_version()) }.to_string_lossy().into_owned()
}

/// What the mruby this program was linked with cannot do, because it was not built by `bin/setup`.
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

/// The path as C and Ruby want it; a NUL cannot be in one.
pub fn path_is_usable(path: &Path) -> bool {
    CString::new(path.as_os_str().as_encoded_bytes()).is_ok()
}
