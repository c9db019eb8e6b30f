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
/// The longest name in bytes whose key is remembered: clients could fill the interpreter's memory with longer ones.
const HEADER_KEY_BYTES_MAX: usize = 512;
/// Shapes (combinations of keys) that are remembered.
const SHAPES_MAX: usize = 64;

/// The keys and shapes that one interpreter knows, and buffers that are reused by each request.
pub struct Environment {
    fixed: [u32; Fixed::NAMES.len()],
    headers: HashMap<HeaderName, u32, RandomState>,
    shapes: HashMap<Box<[u32]>, u32, RandomState>,
    /// The values of all pairs, one after the other.
    values: Vec<u8>,
    /// The pairs, which point into `values` and `names` while a request runs.
    pairs: Vec<FgPair>,
    /// Keys that the interpreter does not know.
    names: Vec<String>,
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
            names: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Calls `run` with the request in the form that C takes; the pointer is valid only during the call.
    pub fn with<T>(&mut self, vm: NonNull<FgVm>, request: &Request, run: impl FnOnce(*const FgRequest) -> T) -> T {
        let id_pair = self.gather(vm, request);
        let shape = self.shape(vm);
        let border = FgRequest { pairs: self.pairs.as_ptr(), count: self.pairs.len(), shape, id_pair };
        run(&raw const border)
    }

    /// Fills `pairs`, `keys` and what the pairs point to. Returns the number of the pair with the request's id, counted
    /// from 1.
    fn gather(&mut self, vm: NonNull<FgVm>, request: &Request) -> u32 {
        self.values.clear();
        self.pairs.clear();
        self.names.clear();
        self.keys.clear();
        let (mut path_pair, mut id_pair) = (0, 0);
        env::pairs(request, &mut |key, value| {
            let number = self.pairs.len() as u32 + 1;
            let mut same = 0;
            let (key, steady) = match key {
                Key::Fixed(fixed) => {
                    match fixed {
                        Fixed::PathInfo => path_pair = number,
                        // An application at the root has one String for both, as with Puma and Unicorn.
                        Fixed::RequestPath if request.script_length == 0 => same = path_pair,
                        _ => {}
                    }
                    (self.fixed(fixed), fixed.is_steady())
                }
                Key::Header(header) => {
                    if *header == env::REQUEST_ID {
                        id_pair = number;
                    }
                    (self.header(vm, header), false)
                }
            };
            // `key` is NO_KEY where the interpreter had no memory for it; then the pair has no shape.
            self.keys.push(key);
            let length = if same == 0 { value.len() } else { 0 };
            self.values.extend_from_slice(&value[..length]);
            self.pairs.push(FgPair {
                key,
                name: ptr::null(),
                name_length: 0,
                bytes: ptr::null(),
                length,
                steady,
                same,
            });
        });
        // Only now do values and names stay where they are.
        let mut values = self.values.as_slice();
        let mut names = self.names.iter();
        for pair in &mut self.pairs {
            let (value, rest) = values.split_at(pair.length);
            pair.bytes = value.as_ptr().cast();
            values = rest;
            if pair.key == sys::NO_KEY
                && let Some(name) = names.next()
            {
                pair.name = name.as_ptr().cast();
                pair.name_length = name.len();
            }
        }
        id_pair
    }

    /// The key of a fixed Rack variable, or NO_KEY after its name was added to `names`.
    fn fixed(&mut self, fixed: Fixed) -> u32 {
        let key = self.fixed[fixed as usize];
        if key == sys::NO_KEY {
            self.names.push(fixed.name().to_owned());
        }
        key
    }

    /// The key of a header, or NO_KEY after its name was added to `names`.
    fn header(&mut self, vm: NonNull<FgVm>, header: &HeaderName) -> u32 {
        if let Some(key) = self.headers.get(header) {
            return *key;
        }
        let name = env::header_key(header);
        let is_kept = self.headers.len() < HEADER_KEYS_MAX && name.len() <= HEADER_KEY_BYTES_MAX;
        let key = if is_kept { new_key(vm, &name) } else { sys::NO_KEY };
        if key == sys::NO_KEY {
            self.names.push(name);
        } else {
            self.headers.insert(header.clone(), key);
        }
        key
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
}
