//! A native function: a row of the table of its crate. The engine gives all rows to each interpreter; the Ruby files of
//! the engine dress them as the library that people know.

use std::ffi::CStr;

use crate::context::Context;
use crate::value::{Arg, Outcome};

/// What a native function of a library does.
pub type Run = fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome;

/// One native function.
pub struct Native<R = Run> {
    /// The class or module it belongs to.
    pub owner: &'static CStr,
    /// Its name in Ruby.
    pub name: &'static CStr,
    /// A method of instances, or a function of the module.
    pub method: bool,
    /// The receiver comes as argument 0.
    pub receiver: bool,
    /// Objects among its arguments are taken as JSON would print them.
    pub json: bool,
    /// What it does.
    pub run: R,
}

impl<R: Copy> Native<R> {
    /// A function of the module FoolsGold::Native.
    pub const fn function(name: &'static CStr, run: R) -> Native<R> {
        Native { owner: c"FoolsGold::Native", name, method: false, receiver: false, json: false, run }
    }

    /// A method of a class.
    pub const fn method(owner: &'static CStr, name: &'static CStr, run: R) -> Native<R> {
        Native { owner, name, method: true, receiver: true, json: false, run }
    }

    /// A method of an object of which there is one: it does not ask for its receiver.
    pub const fn singular(owner: &'static CStr, name: &'static CStr, run: R) -> Native<R> {
        Native { owner, name, method: true, receiver: false, json: false, run }
    }

    /// A function that is given objects as JSON would print them.
    pub const fn json(name: &'static CStr, run: R) -> Native<R> {
        Native { owner: c"FoolsGold::Native", name, method: false, receiver: false, json: true, run }
    }
}
