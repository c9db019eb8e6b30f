//! Ruby's library in Rust, for embedded Ruby: numbers, texts, dates, files, digests, and formats such as JSON and YAML.
//! Every function is a row of [`TABLE`] that takes and returns plain values; the Ruby files of the engine build the
//! familiar methods and classes on top of them.

mod chars;
mod cipher;
mod decimal;
mod digest;
mod encoding;
mod erb;
mod file;
mod float;
mod format;
mod glob;
mod inspect;
mod json;
mod pack;
mod path;
mod prime;
mod random;
mod rounding;
mod system;
mod temporary;
mod text;
mod time;
mod yaml;
mod zlib;

use ruby_native::Native;

pub use path::whole as read_whole;

/// All native functions of this crate.
pub static TABLE: &[Native] = &[
    Native::method(c"Float", c"to_s", float::to_s),
    Native::method(c"Float", c"inspect", float::to_s),
    Native::method(c"Float", c"to_i", rounding::truncated),
    Native::method(c"Float", c"to_int", rounding::truncated),
    Native::method(c"Float", c"truncate", rounding::truncated),
    Native::method(c"Float", c"floor", rounding::floor),
    Native::method(c"Float", c"ceil", rounding::ceil),
    Native::method(c"Float", c"round", rounding::round),
    Native::method(c"String", c"to_f", float::to_f),
    Native::function(c"float_of", float::float_of),
    Native::method(c"String", c"inspect", inspect::inspect),
    Native::method(c"String", c"dump", inspect::dump),
    Native::method(c"String", c"upcase", encoding::upcase),
    Native::method(c"String", c"downcase", encoding::downcase),
    Native::method(c"String", c"swapcase", encoding::swapcase),
    Native::method(c"String", c"capitalize", encoding::capitalize),
    Native::function(c"format", format::format),
    Native::method(c"String", c"tr", chars::tr_plain),
    Native::method(c"String", c"tr_s", chars::tr_squeezed),
    Native::method(c"String", c"delete", chars::delete),
    Native::method(c"String", c"squeeze", chars::squeeze),
    Native::method(c"String", c"count", chars::count),
    Native::method(c"String", c"casecmp?", chars::equal_folded),
    Native::method(c"Array", c"pack", pack::pack),
    Native::method(c"String", c"unpack", pack::unpack),
    Native::method(c"String", c"unpack1", pack::unpack1),
    Native::json(c"json_generate", json::generate),
    Native::function(c"json_parse", json::parse),
    Native::function(c"yaml_events", yaml::events),
    Native::function(c"decimal_add", decimal::add),
    Native::function(c"decimal_mul", decimal::mul),
    Native::function(c"decimal_compare", decimal::compare),
    Native::function(c"decimal_round", decimal::round),
    Native::function(c"decimal_limit", decimal::limit),
    Native::function(c"decimal_divide", decimal::divide),
    Native::function(c"decimal_divmod", decimal::divmod),
    Native::function(c"decimal_power", decimal::power),
    Native::function(c"decimal_sqrt", decimal::sqrt),
    Native::function(c"text_normalize", encoding::normalize),
    Native::function(c"random_bytes", random::bytes),
    Native::function(c"random_number", random::number),
    Native::function(c"uuid", random::uuid),
    Native::function(c"processors", system::processors),
    Native::function(c"system_names", system::names),
    Native::function(c"primes", prime::primes),
    Native::function(c"prime?", prime::is_prime),
    Native::function(c"strftime", time::format::strftime),
    Native::function(c"time_now", time::zone::time_now),
    Native::function(c"time_real", time::real),
    Native::function(c"time_local", time::zone::local),
    Native::function(c"time_from_local", time::zone::from_local),
    Native::function(c"time_fields", time::calendar::fields),
    Native::function(c"time_civil", time::calendar::seconds_of),
    Native::function(c"date_fields", time::calendar::date_fields),
    Native::function(c"date_week", time::calendar::date_week),
    Native::function(c"date_civil", time::calendar::date_civil),
    Native::function(c"date_ordinal", time::calendar::date_ordinal),
    Native::function(c"date_commercial", time::calendar::date_commercial),
    Native::function(c"date_week_num", time::calendar::date_week_num),
    Native::function(c"date_guess", time::guess::guess),
    Native::function(c"date_strptime", time::strptime::strptime),
    Native::function(c"httpdate", time::httpdate),
    Native::function(c"parse_httpdate", time::parse_httpdate),
    Native::function(c"monotonic", time::monotonic),
    Native::function(c"processor_time", time::processor_time),
    Native::function(c"text_kind", encoding::kind),
    Native::function(c"text_scrub", encoding::scrub),
    Native::function(c"text_split", encoding::split),
    Native::function(c"text_widen", encoding::widen),
    Native::function(c"text_from_utf16", encoding::from_utf16),
    Native::function(c"html_escape", text::html_escape),
    Native::function(c"html_unescape", text::html_unescape),
    Native::function(c"form_escape", text::form_escape),
    Native::function(c"form_unescape", text::form_unescape),
    Native::function(c"www_form_escape", text::www_form_escape),
    Native::function(c"www_form_unescape", text::www_form_unescape),
    Native::function(c"url_escape", text::url_escape),
    Native::function(c"url_unescape", text::url_unescape),
    Native::function(c"file_read", path::read),
    Native::function(c"file_expand", path::expand),
    Native::function(c"file_real", path::real),
    Native::function(c"user_home", path::user_home),
    Native::function(c"allow", path::allow),
    Native::function(c"seal", path::seal),
    Native::function(c"file_stat", file::stat),
    Native::function(c"file_stat_all", file::stat_all),
    Native::function(c"file_open", file::open),
    Native::function(c"file_read_at", file::read),
    Native::function(c"file_size", file::size),
    Native::function(c"file_fnmatch", file::fnmatch),
    Native::function(c"dir_entries", file::entries),
    Native::function(c"dir_glob", file::glob),
    Native::function(c"handle_close", zlib::close),
    Native::function(c"deflate_new", zlib::deflate_new),
    Native::function(c"deflate", zlib::deflate),
    Native::function(c"inflate_new", zlib::inflate_new),
    Native::function(c"inflate", zlib::inflate),
    Native::function(c"zlib_dictionary", zlib::dictionary),
    Native::function(c"zlib_level", zlib::level),
    Native::function(c"crc32", zlib::crc32),
    Native::function(c"crc32_combine", zlib::crc32_combine),
    Native::function(c"adler32", zlib::adler32),
    Native::function(c"temporary_new", temporary::new),
    Native::function(c"temporary_path", temporary::path_of),
    Native::function(c"temporary_unlink", temporary::unlink),
    Native::function(c"temporary_read", temporary::read),
    Native::function(c"temporary_write", temporary::write),
    Native::function(c"temporary_size", temporary::size),
    Native::function(c"temporary_truncate", temporary::truncate),
    Native::function(c"temporary_folder", temporary::folder),
    Native::function(c"erb_compile", erb::compile),
    Native::function(c"digest_update", digest::update),
    Native::function(c"digest", digest::digest),
    Native::function(c"digest_hex", digest::hex),
    Native::function(c"digest_file", digest::file),
    Native::function(c"hmac", digest::hmac),
    Native::function(c"hmac_hex", digest::hmac_hex),
    Native::function(c"pbkdf2", digest::pbkdf2),
    Native::function(c"secure_equal", digest::secure_equal),
    Native::function(c"cipher_ctr", cipher::ctr),
    Native::function(c"cipher_gcm", cipher::gcm),
    Native::function(c"cipher_seal", cipher::seal),
    Native::function(c"cipher_open", cipher::open),
    Native::function(c"cipher_cbc", cipher::cbc),
];
