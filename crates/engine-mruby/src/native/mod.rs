//! The functions that Rust gives to Ruby: a table of rows, each a name and a plain, safe Rust function.
//! To add one is to add a row; the Ruby files under `ruby/` dress them as the library that people know.

mod cipher;
mod digest;
mod encoding;
mod erb;
mod file;
mod float;
mod http;
mod input;
mod inspect;
mod json;
mod log;
mod pack;
mod path;
mod prime;
mod random;
mod redis;
mod sqlite;
mod store;
mod temporary;
mod text;
mod time;
mod value;
mod zlib;

pub use http::Agents;
pub use value::{Arg, Outcome, Raise, Value, arg, raise};

use std::ffi::CStr;
use std::sync::Arc;
use std::time::Instant;

use crate::exchange::Exchange;
use crate::gauge::{Clock, Gauge};
use crate::handles::Handles;
use crate::resources::Resources;
use crate::shared::Shared;
use crate::timers::Timers;

/// The most arguments of a native function, its receiver included.
pub const ARGUMENTS_MAX: usize = 13;

/// What a native function may touch.
pub struct Context<'a> {
    /// What all interpreters share.
    pub shared: &'a Shared,
    /// The request under way; none while the application is loaded.
    pub exchange: Option<&'a mut Exchange>,
    /// What is held for objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Its folders, and the memory of its databases.
    pub resources: &'a mut Resources,
    /// How long blocks may take.
    pub timers: &'a mut Timers,
    /// Until when all of it may run.
    pub gauge: &'a Arc<Gauge>,
    /// The clock of the gauge.
    pub clock: Clock,
}

impl Context<'_> {
    /// To be called before anything that may wait, and before anything is borrowed or locked: the request goes on in a
    /// thread where it holds up no other.
    pub fn leave(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.leave();
        }
    }

    /// When whatever waits must be over.
    pub fn until(&self) -> Instant {
        self.clock.instant(self.gauge.deadline().min(self.timers.next()))
    }

    /// What is to be raised when that time has come, if it has.
    pub fn overdue(&mut self) -> Option<Raise> {
        let now = self.clock.at(Instant::now());
        if self.gauge.is_late(now) {
            return Some(raise("FoolsGold::RequestTimeout", "the request took longer than it may"));
        }
        if !self.timers.expire(now) {
            return None;
        }
        self.gauge.set_soon(self.timers.next());
        Some(raise("Timeout::ExitException", "execution expired"))
    }

    /// To be called every few milliseconds by what can take long, and before what can block: whether it may go on.
    pub fn tick(&mut self) -> Result<(), Raise> {
        self.leave();
        self.overdue().map_or(Ok(()), Err)
    }
}

/// One native function.
pub struct Native {
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
    pub run: fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome,
}

const fn function(name: &'static CStr, run: fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome) -> Native {
    Native { owner: c"FoolsGold::Native", name, method: false, receiver: false, json: false, run }
}

const fn method(owner: &'static CStr, name: &'static CStr, run: fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome) -> Native {
    Native { owner, name, method: true, receiver: true, json: false, run }
}

const fn singular(
    owner: &'static CStr,
    name: &'static CStr,
    run: fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome,
) -> Native {
    Native { receiver: false, ..method(owner, name, run) }
}

const fn json(name: &'static CStr, run: fn(&mut Context<'_>, &[Arg<'_>]) -> Outcome) -> Native {
    Native { json: true, ..function(name, run) }
}

/// All of them; Ruby knows a function by its place here.
pub static TABLE: &[Native] = &[
    method(c"Float", c"to_s", float::to_s),
    method(c"Float", c"inspect", float::to_s),
    method(c"String", c"inspect", inspect::inspect),
    method(c"String", c"dump", inspect::dump),
    method(c"String", c"upcase", encoding::upcase),
    method(c"String", c"downcase", encoding::downcase),
    method(c"String", c"swapcase", encoding::swapcase),
    method(c"String", c"capitalize", encoding::capitalize),
    method(c"Array", c"pack", pack::pack),
    method(c"String", c"unpack", pack::unpack),
    method(c"String", c"unpack1", pack::unpack1),
    json(c"json_generate", json::generate),
    json(c"json_pretty", json::pretty),
    function(c"json_parse", json::parse),
    function(c"random_bytes", random::bytes),
    function(c"random_number", random::number),
    function(c"uuid", random::uuid),
    function(c"primes", prime::primes),
    function(c"prime?", prime::is_prime),
    function(c"strftime", time::format::strftime),
    function(c"time_now", time::zone::time_now),
    function(c"time_real", time::real),
    function(c"time_local", time::zone::local),
    function(c"time_from_local", time::zone::from_local),
    function(c"time_fields", time::calendar::fields),
    function(c"time_civil", time::calendar::seconds_of),
    function(c"date_fields", time::calendar::date_fields),
    function(c"date_week", time::calendar::date_week),
    function(c"date_civil", time::calendar::date_civil),
    function(c"date_ordinal", time::calendar::date_ordinal),
    function(c"date_commercial", time::calendar::date_commercial),
    function(c"date_week_num", time::calendar::date_week_num),
    function(c"date_guess", time::guess::guess),
    function(c"date_strptime", time::strptime::strptime),
    function(c"httpdate", time::httpdate),
    function(c"parse_httpdate", time::parse_httpdate),
    function(c"monotonic", time::monotonic),
    function(c"sleep", time::sleep),
    function(c"text_kind", encoding::kind),
    function(c"text_scrub", encoding::scrub),
    function(c"text_split", encoding::split),
    function(c"text_widen", encoding::widen),
    function(c"html_escape", text::html_escape),
    function(c"html_unescape", text::html_unescape),
    function(c"form_escape", text::form_escape),
    function(c"form_unescape", text::form_unescape),
    function(c"www_form_escape", text::www_form_escape),
    function(c"www_form_unescape", text::www_form_unescape),
    function(c"url_escape", text::url_escape),
    function(c"url_unescape", text::url_unescape),
    singular(c"FoolsGold::Counter", c"count", store::requests_count),
    singular(c"FoolsGold::Counter", c"increment", store::requests_increment),
    function(c"store_get", store::get),
    function(c"store_set", store::set),
    function(c"store_delete", store::delete),
    function(c"store_increment", store::increment),
    function(c"store_clear", store::clear),
    function(c"store_size", store::size),
    function(c"input_read", input::read),
    function(c"input_size", input::size),
    function(c"log", log::log),
    function(c"environment", log::environment),
    function(c"environment_variables", log::environment_variables),
    function(c"file_read", path::read),
    function(c"source_read", path::read_source),
    function(c"source_known", path::knows_source),
    function(c"file_expand", path::expand),
    function(c"file_real", path::real),
    function(c"allow", path::allow),
    function(c"seal", path::seal),
    function(c"file_stat", file::stat),
    function(c"file_stat_all", file::stat_all),
    function(c"file_open", file::open),
    function(c"file_read_at", file::read),
    function(c"file_size", file::size),
    function(c"file_fnmatch", file::fnmatch),
    function(c"dir_entries", file::entries),
    function(c"dir_glob", file::glob),
    function(c"sqlite_open", sqlite::open),
    function(c"sqlite_execute", sqlite::execute),
    function(c"sqlite_prepare", sqlite::prepare),
    function(c"sqlite_used", sqlite::used),
    function(c"sqlite_bind", sqlite::bind),
    function(c"sqlite_fetch", sqlite::fetch),
    function(c"sqlite_reset", sqlite::reset),
    function(c"sqlite_about", sqlite::about),
    function(c"sqlite_tell", sqlite::tell),
    function(c"sqlite_busy", sqlite::busy),
    function(c"sqlite_version", sqlite::version),
    function(c"http_send", http::send),
    function(c"http_head", http::head),
    function(c"http_read", http::read),
    function(c"redis_open", redis::open),
    function(c"redis_call", redis::call),
    function(c"timer_start", time::timer_start),
    function(c"timer_stop", time::timer_stop),
    function(c"handle_close", zlib::close),
    function(c"deflate_new", zlib::deflate_new),
    function(c"deflate", zlib::deflate),
    function(c"inflate_new", zlib::inflate_new),
    function(c"inflate", zlib::inflate),
    function(c"zlib_dictionary", zlib::dictionary),
    function(c"zlib_level", zlib::level),
    function(c"crc32", zlib::crc32),
    function(c"adler32", zlib::adler32),
    function(c"temporary_new", temporary::new),
    function(c"temporary_path", temporary::path_of),
    function(c"temporary_read", temporary::read),
    function(c"temporary_write", temporary::write),
    function(c"temporary_size", temporary::size),
    function(c"temporary_truncate", temporary::truncate),
    function(c"temporary_folder", temporary::folder),
    function(c"erb_compile", erb::compile),
    function(c"process_id", log::process_id),
    function(c"digest_update", digest::update),
    function(c"digest", digest::digest),
    function(c"digest_hex", digest::hex),
    function(c"digest_file", digest::file),
    function(c"hmac", digest::hmac),
    function(c"hmac_hex", digest::hmac_hex),
    function(c"pbkdf2", digest::pbkdf2),
    function(c"secure_equal", digest::secure_equal),
    function(c"cipher_ctr", cipher::ctr),
    function(c"cipher_gcm", cipher::gcm),
    function(c"cipher_seal", cipher::seal),
    function(c"cipher_open", cipher::open),
    function(c"cipher_cbc", cipher::cbc),
];
