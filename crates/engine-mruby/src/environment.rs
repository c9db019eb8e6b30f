//! The Rack environment of a request in the form that C takes: its keys in their order (a shape, see c/env.c) and the
//! bytes of their values. Keys and shapes that the interpreter knows are remembered, up to a limit, since header names
//! come from clients.

use std::collections::HashMap;
use std::ptr::{self, NonNull};

use engine::Request;
use engine::env::{self, Fixed, Key};
use foldhash::fast::RandomState;
use http::HeaderName;

use mruby_sys::{self as sys, FgPair, FgRequest, FgVm};

/// Header names whose keys are remembered; the keys of all others are made anew for each request.
const HEADER_KEYS_MAX: usize = 256;
/// Shapes (combinations of keys) that are remembered.
const SHAPES_MAX: usize = 64;

struct Pair {
    key: u32,
    name: Option<String>,
    begin: usize,
    end: usize,
    steady: bool,
}

/// The keys and shapes that one interpreter knows, and buffers that are reused by each request.
pub struct Environment {
    fixed: [u32; Fixed::NAMES.len()],
    headers: HashMap<HeaderName, u32, RandomState>,
    shapes: HashMap<Box<[u32]>, u32, RandomState>,
    values: Vec<u8>,
    pairs: Vec<Pair>,
    keys: Vec<u32>,
}

fn new_key(vm: NonNull<FgVm>, name: &str) -> u32 {
    // SAFETY: the interpreter is open and does not run; pointer and length are those of `name`.
    unsafe { sys::fg_vm_key(vm.as_ptr(), name.as_ptr().cast(), name.len()) }
}

impl Environment {
    /// The state for an interpreter that was just opened: registers the keys of the fixed Rack variables.
    pub fn new(vm: NonNull<FgVm>) -> Environment {
        Environment {
            fixed: Fixed::NAMES.map(|name| new_key(vm, name)),
            headers: HashMap::default(),
            shapes: HashMap::default(),
            values: Vec::new(),
            pairs: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Calls `run` with the request in the form that C takes; the pointer is valid only during the call.
    pub fn with<T>(&mut self, vm: NonNull<FgVm>, request: &Request, run: impl FnOnce(*const FgRequest) -> T) -> T {
        self.gather(vm, request);
        let shape = self.shape(vm);
        let pairs: Vec<FgPair> = self.pairs.iter().map(|pair| self.border(pair)).collect();
        let border = FgRequest {
            pairs: pairs.as_ptr(),
            count: pairs.len(),
            shape,
            id: request.id.as_ptr().cast(),
            id_length: request.id.len(),
        };
        run(&raw const border)
    }

    fn gather(&mut self, vm: NonNull<FgVm>, request: &Request) {
        self.values.clear();
        self.pairs.clear();
        self.keys.clear();
        env::pairs(request, &mut |key, value| {
            let begin = self.values.len();
            self.values.extend_from_slice(value);
            let end = self.values.len();
            let (key, name, steady) = match key {
                Key::Fixed(fixed) => (self.fixed[fixed as usize], None, fixed.is_steady()),
                Key::Header(header) => {
                    let (key, name) = self.header(vm, header);
                    (key, name, false)
                }
            };
            // `key` is NO_KEY where the interpreter had no memory for it; then the pair has no shape.
            self.keys.push(key);
            self.pairs.push(Pair { key, name, begin, end, steady });
        });
    }

    fn header(&mut self, vm: NonNull<FgVm>, header: &HeaderName) -> (u32, Option<String>) {
        if let Some(key) = self.headers.get(header) {
            return (*key, None);
        }
        let name = env::header_key(header);
        let key = if self.headers.len() < HEADER_KEYS_MAX { new_key(vm, &name) } else { sys::NO_KEY };
        if key == sys::NO_KEY {
            return (key, Some(name));
        }
        self.headers.insert(header.clone(), key);
        (key, None)
    }

    fn shape(&mut self, vm: NonNull<FgVm>) -> u32 {
        if let Some(shape) = self.shapes.get(self.keys.as_slice()) {
            return *shape;
        }
        if self.shapes.len() >= SHAPES_MAX || self.keys.contains(&sys::NO_KEY) {
            return sys::NO_SHAPE;
        }
        // SAFETY: the interpreter is open and does not run; pointer and length are those of `keys`, which it gave out.
        let shape = unsafe { sys::fg_vm_shape(vm.as_ptr(), self.keys.as_ptr(), self.keys.len()) };
        self.shapes.insert(self.keys.as_slice().into(), shape);
        shape
    }

    fn border(&self, pair: &Pair) -> FgPair {
        let (name, name_length) = pair.name.as_ref().map_or((ptr::null(), 0), |name| (name.as_ptr(), name.len()));
        let value = &self.values[pair.begin..pair.end];
        FgPair {
            key: pair.key,
            name: name.cast(),
            name_length,
            bytes: value.as_ptr().cast(),
            length: value.len(),
            steady: pair.steady,
        }
    }
}
