//! A native function: a row of the table of its crate. The engine defines all rows in each interpreter; the Ruby files
//! of the engine build the familiar classes on top of them.

use std::ffi::CStr;

use crate::context::Context;
use crate::value::{Arg, Outcome};

/// The Rust function behind a native function of a library.
pub type Run = fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome;

/// A native function and its place in Ruby.
pub struct Native<R = Run> {
    /// The class or module that gets the function, such as `FoolsGold::Native`.
    pub owner: &'static CStr,
    /// The name of the function in Ruby.
    pub name: &'static CStr,
    /// Whether it is a method of instances; else it is a function of the module.
    pub method: bool,
    /// Whether the receiver is passed as argument 0.
    pub receiver: bool,
    /// Whether objects among its arguments are passed as JSON would print them.
    pub json: bool,
    /// The Rust function.
    pub run: R,
}

impl<R: Copy> Native<R> {
    /// A function of the module FoolsGold::Native.
    pub const fn function(name: &'static CStr, run: R) -> Native<R> {
        Native { owner: c"FoolsGold::Native", name, method: false, receiver: false, json: false, run }
    }

    /// A method of a class, which gets its receiver as argument 0.
    pub const fn method(owner: &'static CStr, name: &'static CStr, run: R) -> Native<R> {
        Native { owner, name, method: true, receiver: true, json: false, run }
    }

    /// A method of a class with a single instance; it does not get its receiver.
    pub const fn singular(owner: &'static CStr, name: &'static CStr, run: R) -> Native<R> {
        Native { owner, name, method: true, receiver: false, json: false, run }
    }

    /// A function of the module FoolsGold::Native that gets objects as JSON would print them.
    pub const fn json(name: &'static CStr, run: R) -> Native<R> {
        Native { owner: c"FoolsGold::Native", name, method: false, receiver: false, json: true, run }
    }
}
