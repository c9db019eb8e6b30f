/* The border between Rust and C, and between the C files. Its Rust twin is src/lib.rs.
 *
 * Rule of the border: a longjmp never crosses a Rust frame. So C calls Rust only through the functions fg_host_*,
 * fg_pattern_* and fg_text_*, which do plain work and return; and Rust calls C only through the functions fg_vm_*,
 * which catch every exception. */
#ifndef FG_H
#define FG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mruby.h>
#include <mruby/class.h>
#include <mruby/proc.h>

/* A value that crosses the border. Bytes belong to the side that passes them. Those of a result live until the next
 * call of Rust for this interpreter. */
typedef enum {
  FG_NIL, FG_FALSE, FG_TRUE, FG_INT, FG_FLOAT, FG_STR, FG_SYM, FG_TREE, FG_ERROR,
  FG_BYTES, /* a String of bytes (ASCII-8BIT) */
  FG_HANDLE /* a value that Rust holds, by its number; `length` bytes of memory */
} fg_tag;

typedef struct {
  uint8_t tag;
  int64_t integer;
  double number;
  const char *bytes;
  size_t length;
  const char *klass; /* of an error: the name of its class */
  size_t klass_length;
} fg_value;

/* A pair of a Rack environment: the key is an index that fg_vm_key returned, or FG_NO_KEY with the bytes of its name. A
 * steady value is often that of the last request: then the same frozen String is used again. With `same`, the value is
 * the String of an earlier pair: the one with this number, counted from 1. */
#define FG_NO_KEY UINT32_MAX
#define FG_NO_SHAPE UINT32_MAX
/* The first keys of every interpreter: those whose values are objects that C creates. */
enum { FG_KEY_FINISHED, FG_KEY_CONTEXT, FG_KEY_INPUT };
typedef struct {
  uint32_t key;
  const char *name;
  size_t name_length;
  const char *bytes;
  size_t length;
  bool steady;
  uint32_t same;
} fg_pair;

/* A request: its pairs, the shape for exactly their keys in this order, or FG_NO_SHAPE, and the number of the pair
 * whose value is the request's id, counted from 1. */
typedef struct {
  const fg_pair *pairs;
  size_t count;
  uint32_t shape;
  uint32_t id_pair;
} fg_request;

/* A native function: a module function of `owner`, or with `method` a method of its instances. With `receiver`, the
 * receiver is argument 0. */
typedef struct {
  const char *owner;
  const char *name;
  bool method;
  bool receiver;
  bool json; /* objects among the arguments are taken as JSON would print them */
} fg_native;

/* Results of fg_host_chunk: sent; the client is gone; the deadline has passed. */
enum { FG_SENT = 0, FG_GONE = 1, FG_LATE = 2 };
/* Flags of fg_host_body: the headers give the body's end (Content-Length or chunked); the request is a HEAD; the status
 * has no content. */
enum { FG_FRAMED = 1, FG_HEAD = 2, FG_NO_CONTENT = 4 };
/* Results of fg_host_tick: go on, end the request, or end the block of a Timeout. */
enum { FG_GO_ON = 0, FG_STOP = 1, FG_EXPIRED = 2 };
/* Results of fg_guard and of the calls of Rust into Ruby. */
enum { FG_DONE = 0, FG_RAISED = 1, FG_NO_MEMORY = 2, FG_STOPPED = 3 };

/* Functions of Rust; `host` is the pointer given to fg_vm_open. */
bool fg_host_status(void *host, int64_t status);
bool fg_host_header(void *host, const char *name, size_t name_length, const char *value, size_t value_length);
void fg_host_bad_answer(void *host, const char *why, size_t length);
int fg_host_chunk(void *host, const char *bytes, size_t length);
bool fg_host_flush(void *host);
/* Uses a file as the response body, and says whether it does. */
bool fg_host_file(void *host, const char *path, size_t length);
/* Facts about the body before it is read: FG_FRAMED and so on. */
int fg_host_body(void *host);
void fg_host_unasked(void *host);
void fg_host_whole(void *host, size_t length);
void fg_host_answered(void *host, int ended);
int fg_host_tick(void *host);
/* Drops the value of a handle, when the garbage collector frees its object. */
void fg_host_release(void *host, uint64_t handle);
void fg_host_native(void *host, uint32_t index, const fg_value *args, size_t count, fg_value *result);
/* Logs the error that was reported last, since it came too late for an answer; `what` is a string literal. */
void fg_host_late_error(void *host, const char *what);
void fg_host_error(void *host, const char *klass, size_t klass_length, const char *message, size_t message_length);
/* The bytecode of a library, or its source where no interpreter has compiled it yet; never freed. Returns its length in
 * bytes, 0 where there is no library of that name. */
size_t fg_host_library(const char *name, size_t length, const char **code, bool *is_code);
void fg_host_library_compiled(const char *name, size_t length, const char *code, size_t size);
void fg_host_compiled(void *host, const char *code, size_t length);
void fg_host_frame(void *host, const char *line, size_t length);

/* A compiled pattern. It belongs to Rust; C holds its address from fg_pattern_new to fg_pattern_free. */
typedef struct fg_pattern fg_pattern;
/* The kind of a text: unknown, UTF-8, or bytes. */
enum { FG_TEXT_UNKNOWN = 0, FG_TEXT_UTF8 = 1, FG_TEXT_BYTES = 2 };
/* Results of fg_pattern_search: the Regexp's timeout, the request's deadline, the backtracking stack, and the limit of
 * a Timeout block end a search early. */
enum {
  FG_NOT_FOUND = 0, FG_FOUND = 1, FG_TIMEOUT = 2, FG_OVERTIME = 3, FG_STACK = 4, FG_SEARCH_EXPIRED = 5
};
#define FG_UNSET SIZE_MAX
typedef struct {
  const char *text;
  size_t length, start;
  bool anchored; /* only at the start */
  uint8_t kind;
  uint64_t timeout; /* nanoseconds; 0 for none */
} fg_search;

const fg_pattern *fg_pattern_new(void *host, const char *source, size_t length, uint32_t options, fg_value *error);
void fg_pattern_free(const fg_pattern *pattern);
size_t fg_pattern_bytes(const fg_pattern *pattern);
uint32_t fg_pattern_groups(const fg_pattern *pattern);
uint32_t fg_pattern_options(const fg_pattern *pattern);
bool fg_pattern_is_linear(const fg_pattern *pattern);
const char *fg_pattern_source(const fg_pattern *pattern, size_t *length);
const char *fg_pattern_name(const fg_pattern *pattern, size_t index, size_t *length); /* NULL behind the last */
uint32_t fg_pattern_group(const fg_pattern *pattern, const char *name, size_t length, size_t index); /* 0: none */
int fg_pattern_search(void *host, const fg_pattern *pattern, const fg_search *search, size_t *slots, size_t count);
uint8_t fg_text_kind(const char *text, size_t length);
size_t fg_text_count(const char *text, size_t length);
size_t fg_text_offset(const char *text, size_t length, size_t characters); /* FG_UNSET beyond the end */
size_t fg_text_before(const char *text, size_t at);

/* A frame of a backtrace, kept outside of the interpreter's memory. */
#define FG_PLACES 12
typedef struct { char file[200], method[56]; int line; } fg_place;

/* The state of one interpreter, at mrb->ud. */
typedef struct fg_vm {
  mrb_state *mrb;
  void *host;
  size_t used, limit;     /* bytes of memory; the allocator, fg_reserve and fg_release write `used` */
  bool out_of_memory;     /* memory was short, even without garbage, since the last fg_vm_reset */
  bool closing;           /* the limit no longer counts: clean-up must not fail */
  uint32_t stops;         /* instructions since the script was interrupted; 0 while it was not */
  struct {
    mrb_sym id, closed, run;
    mrb_sym to_i, each, to_path, to_ary, to_a, call, close, respond_to, respond_to_missing;
  } symbols;
  mrb_value app, template, keys, kept, shapes, context_class, input_class, fresh_input;
  mrb_value stream_class, gone_class, timeout_class;
  const char *stack; /* top of the C stack when Ruby was entered; it grows downwards */
  bool streaming; /* a body is being read: its stream or block may write */
  mrb_int run;    /* number of the request; streams, blocks and bodies of others have another one */
  void *call;     /* the call whose headers are being read */
  struct fg_handled *handled;
  size_t handled_count, handled_room;
  mrb_value handled_exceptions;
  struct RClass *regexp_class, *match_class;
  mrb_sym scanner_string, scanner_pattern;
  mrb_value regexps;      /* the last match, and the table of regexp.c */
  mrb_sym match_symbols[24];
  struct fg_alias { mrb_sym name, means; } *aliases; /* of global variables */
  size_t alias_count;
#define FG_GLOBAL_KINDS 25
  mrb_sym global_kinds[FG_GLOBAL_KINDS]; /* global variables that take only some values */
  uint64_t regexp_timeout;
  mrb_func_t fiber_resume, integer_power, hash_replace; /* mruby's own functions of these methods */
  fg_place places[FG_PLACES]; /* frames when it was interrupted, or met its memory limit */
  size_t place_count;
} fg_vm;

/* vm.c, load.c, guard.c: the life of an interpreter. Functions that return int return FG_DONE and so on, and report an
 * exception by fg_host_error before that. Only one thread may use an interpreter at a time; fg_deadline_timer_set alone
 * may be called by another one meanwhile. */
fg_vm *fg_vm_open(void *host, size_t limit);
void fg_vm_close(fg_vm *vm);
void *fg_vm_deadline_timer(fg_vm *vm); /* the address that fg_deadline_timer_set writes to */
void fg_deadline_timer_set(void *address);
void fg_vm_reset(fg_vm *vm); /* resets timer and limits, after each call */
void fg_vm_define(fg_vm *vm, const fg_native *natives, size_t count);
int fg_vm_compile(fg_vm *vm, const char *source, size_t length, const char *name);
int fg_vm_run(fg_vm *vm, const char *code, size_t length);
int fg_vm_start(fg_vm *vm, const char *rackup, size_t length);
uint32_t fg_vm_key(fg_vm *vm, const char *name, size_t length);
uint32_t fg_vm_shape(fg_vm *vm, const uint32_t *keys, size_t count);
void fg_seed(uint64_t seed);
size_t fg_vm_used(const fg_vm *vm); /* bytes of memory, with those that Rust holds for its objects */
/* FG_STOPPED or FG_NO_MEMORY for a limit met since the last fg_vm_reset, also where that was rescued; else FG_DONE. */
int fg_vm_hit_limit(const fg_vm *vm);
const char *fg_version(void);
/* What the linked mruby can do: interrupt a script (MRB_USE_DEBUG_HOOK); `$!` and causes (our patch). */
int fg_can_stop(void);
int fg_can_rescue(void);

/* env.c: the environment of a request. */
void fg_env_init(mrb_state *mrb, fg_vm *vm);
mrb_value fg_env_new(mrb_state *mrb, const fg_request *request);

/* call.c: one request. */
int fg_vm_call(fg_vm *vm, const fg_request *request);

/* Functions between the C files. Most may raise; fg_guard and fg_report catch. */
typedef mrb_value fg_body(mrb_state *mrb, void *data);
void fg_guard_init(void);
ptrdiff_t fg_stack_used(mrb_state *mrb);
int fg_guard(fg_vm *vm, fg_body *body, void *data);
/* A guard that gives its exception, and keeps objects alive while that is reported. */
struct fg_kept {
  mrb_value raised;             /* the exception, where FG_RAISED is returned */
  const mrb_value *objects[2];
};
int fg_guard_keeping(fg_vm *vm, fg_body *body, void *data, struct fg_kept *kept);
void fg_report(fg_vm *vm, mrb_value exception);
/* trace.c: the frames of an interruption, recorded now and reported later. */
void fg_note_places(fg_vm *vm);
void fg_report_places(fg_vm *vm);
void fg_rescue_init(mrb_state *mrb, fg_vm *vm);
bool fg_is_shared(mrb_state *mrb, mrb_value object, mrb_sym name, mrb_value self);
void fg_globals_init(mrb_state *mrb);
int fg_global_set(mrb_state *mrb, mrb_sym name, mrb_sym means, mrb_value value);
int fg_global_backtrace(mrb_state *mrb, mrb_sym name, mrb_value *value);
void fg_globals_close(fg_vm *vm);
mrb_sym fg_global_name(const fg_vm *vm, mrb_sym name);
void fg_rescue_reset(fg_vm *vm);
void fg_rescue_close(fg_vm *vm);
void fg_load_init(mrb_state *mrb);
void fg_visibility_init(mrb_state *mrb);
void fg_autoload_init(mrb_state *mrb);
void fg_defined_init(mrb_state *mrb);
void fg_keywords_init(mrb_state *mrb);
/* fiber.c */
void fg_fiber_init(mrb_state *mrb, fg_vm *vm);
/* copies.c */
void fg_copies_init(mrb_state *mrb);
/* hash.c */
void fg_hash_init(mrb_state *mrb, fg_vm *vm);
/* numbers.c */
void fg_numbers_init(mrb_state *mrb, fg_vm *vm);
/* lists.c */
void fg_lists_init(mrb_state *mrb);
void fg_call_init(mrb_state *mrb, fg_vm *vm);
void fg_native_init(mrb_state *mrb, const fg_native *natives, size_t count);
void fg_look_at_clock(mrb_state *mrb);
mrb_noreturn void fg_out_of_time(mrb_state *mrb, int why);
/* Memory of Rust that counts towards the interpreter's limit; false where it does not fit. */
bool fg_reserve(mrb_state *mrb, size_t bytes);
void fg_release(mrb_state *mrb, size_t bytes);
struct RProc *fg_compile(mrb_state *mrb, const char *source, size_t length, const char *name, mrb_int line);
/* The value of an object's to_str, to_int, to_ary or to_hash, else the object. */
mrb_value fg_plain(mrb_state *mrb, mrb_value value);
/* Appends a value to `out`. `json`: the options of JSON.generate, nil among them; NULL where the tree is for another
 * purpose. */
void fg_tree_encode(mrb_state *mrb, mrb_value out, mrb_value value, const mrb_value *json, int depth);
mrb_value fg_tree_decode(mrb_state *mrb, const char *bytes, size_t length);

/* regexp.c: Regexp. */
void fg_regexp_init(mrb_state *mrb, fg_vm *vm);
const fg_pattern *fg_regexp_pattern(mrb_state *mrb, mrb_value regexp);
bool fg_is_regexp(mrb_state *mrb, mrb_value value);
mrb_value fg_regexp_new(mrb_state *mrb, const char *source, size_t length, uint32_t options);
mrb_value fg_regexp_quote(mrb_state *mrb, const char *text, size_t length);

/* finder.c: searching, and the last match. */
#define FG_SLOTS 32
typedef struct {
  mrb_value pattern, text; /* Regexp or String; String */
  const fg_pattern *native;
  uint64_t timeout;
  uint8_t kind;
  size_t base; /* where the text begins for the pattern */
  size_t *slots, room;
  size_t few[FG_SLOTS];
} fg_finder;
mrb_noreturn void fg_no_pattern(mrb_state *mrb, mrb_value pattern);
mrb_value fg_as_pattern(mrb_state *mrb, mrb_value pattern);
void fg_finder_init(mrb_state *mrb, fg_finder *finder, mrb_value pattern, mrb_value text);
void fg_finder_begin(mrb_state *mrb, fg_finder *finder, mrb_value pattern, mrb_value text, size_t base, uint8_t kind);
bool fg_find(mrb_state *mrb, fg_finder *finder, size_t start, bool anchored);
bool fg_find_last(mrb_state *mrb, fg_finder *finder, size_t start);
size_t fg_after(fg_finder *finder);
mrb_value fg_match_new(mrb_state *mrb, fg_finder *finder);
mrb_value fg_match_get(mrb_state *mrb, int above);
void fg_match_set(mrb_state *mrb, mrb_value match, int above);
int fg_match_global(mrb_state *mrb, mrb_sym name, mrb_value *value);
void fg_finder_setup(mrb_state *mrb, fg_vm *vm);

/* match.c: MatchData. */
#define FG_MATCH_TEXT 0
#define FG_MATCH_PATTERN 1
#define FG_MATCH_SLOTS 2
void fg_match_init(mrb_state *mrb, fg_vm *vm);
mrb_value fg_match_group(mrb_state *mrb, mrb_value match, size_t group);
mrb_value fg_match_bytes(mrb_state *mrb, mrb_value match, mrb_value which);
void fg_match_check(mrb_state *mrb, mrb_value value);
mrb_value fg_match_pre(mrb_state *mrb, mrb_value match);
mrb_value fg_match_post(mrb_state *mrb, mrb_value match);
size_t fg_match_size(mrb_value match);
size_t fg_match_named(mrb_state *mrb, mrb_value match, const char *name, size_t length);

/* subject.c: what Regexp and String do with each other. */
void fg_subject_init(mrb_state *mrb, fg_vm *vm);

/* bytes.c: strings of bytes. */
void fg_bytes_init(mrb_state *mrb);
bool fg_is_ascii_text(const char *text, size_t length);
void fg_bytes_mark(mrb_value text, bool binary);
bool fg_bytes_marked(mrb_value text);
size_t fg_bytes_count(mrb_value text, size_t length);
size_t fg_bytes_offset(mrb_value text, size_t from, size_t characters);
mrb_value fg_bytes_part(mrb_state *mrb, mrb_value text, mrb_int from, mrb_int length);

/* scanner.c: StringScanner. */
void fg_scanner_init(mrb_state *mrb);

/* binding.c: Proc#binding. */
void fg_binding_init(mrb_state *mrb);

/* names.c: Module#set_temporary_name. */
void fg_names_init(mrb_state *mrb);

/* replace.c: what it does with all matches. */
void fg_replace_init(mrb_state *mrb);
mrb_value fg_split(mrb_state *mrb, mrb_value self, mrb_value pattern, mrb_int limit);

static inline fg_vm *fg_of(mrb_state *mrb) { return (fg_vm *)mrb->ud; }

/* The C function of a method of this class; NULL if there is no such method, or it is Ruby. */
static inline mrb_func_t fg_own_function(mrb_state *mrb, struct RClass *klass, mrb_sym name)
{
  mrb_method_t own = mrb_method_search_vm(mrb, &klass, name);
  return MRB_METHOD_UNDEF_P(own) || !MRB_METHOD_FUNC_P(own) ? NULL : MRB_METHOD_FUNC(own);
}
/* One of the symbols that are made once. */
#define SYM(mrb, name) (fg_of(mrb)->symbols.name)

#endif
