/* The life of one interpreter: open, load, keep within its memory, stop, close. Knows nothing of requests. */
#include "fg.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/hash.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <mruby/version.h>

/* A script that was told to stop may run its ensure clauses for this many instructions before it is told again. */
#define STOP_GRACE 10000

static void *allocate(mrb_state *mrb, void *pointer, size_t size, void *data)
{
  fg_vm *vm = data;
  (void)mrb;
  size_t before = pointer ? malloc_usable_size(pointer) : 0;
  if (size == 0) {
    vm->used -= before;
    free(pointer);
    return NULL;
  }
  if (!vm->closing && size > before && vm->used + (size - before) > vm->limit) {
    vm->out_of_memory = true;
    fg_note_places(vm);
    return NULL;
  }
  void *fresh = realloc(pointer, size);
  if (fresh == NULL) {
    vm->out_of_memory = true;
    return NULL;
  }
  vm->used += malloc_usable_size(fresh) - before;
  return fresh;
}

/* Memory that Rust holds for an object of this interpreter counts as its own; false where there is no room for it. */
bool fg_reserve(mrb_state *mrb, size_t bytes)
{
  fg_vm *vm = fg_of(mrb);
  if (!vm->closing && vm->used + bytes > vm->limit) mrb_full_gc(mrb);
  if (!vm->closing && vm->used + bytes > vm->limit) {
    vm->out_of_memory = true;
    fg_note_places(vm);
    return false;
  }
  vm->used += bytes;
  return true;
}

void fg_release(mrb_state *mrb, size_t bytes)
{
  fg_of(mrb)->used -= bytes;
}

/* Ends the block of a Timeout; Timeout.timeout itself makes an error of it that a rescue sees. */
static mrb_noreturn void expire(mrb_state *mrb)
{
  struct RClass *klass = mrb_class_get_under(mrb, mrb_module_get(mrb, "Timeout"), "ExitException");
  mrb_raise(mrb, klass, "execution expired");
}

/* --- stopping --------------------------------------------------------------------------------------------------- */

#ifdef MRB_USE_DEBUG_HOOK
static void on_instruction(mrb_state *mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs)
{
  fg_vm *vm = fg_of(mrb);
  (void)irep;
  (void)regs;
  if (vm->stops == 0) {
    /* Cleared first: an alarm that arrives while the host decides must not be lost. */
    mrb->code_fetch_hook = NULL;
    int answer = fg_host_tick(vm->host);
    if (answer == FG_GO_ON) return;
    if (answer == FG_EXPIRED) {
      mrb->c->ci->pc = pc + 1;
      expire(mrb);
    }
    mrb->code_fetch_hook = on_instruction;
  }
  else if (vm->stops < STOP_GRACE) {
    vm->stops++;
    return;
  }
  vm->stops++;
  /* Past the instruction that would run now: `retry` would otherwise find the same place again, for ever. */
  mrb->c->ci->pc = pc + 1;
  if (vm->stops == 1) fg_note_places(vm);
  struct RClass *klass = mrb_nil_p(vm->timeout_class) ? mrb->eException_class : mrb_class_ptr(vm->timeout_class);
  mrb_raise(mrb, klass, "the request took longer than it may");
}

/* Long work in C has no instructions at which it could be interrupted: it looks itself whether an alarm has come. */
void fg_look_at_clock(mrb_state *mrb)
{
  if (__atomic_load_n(&mrb->code_fetch_hook, __ATOMIC_RELAXED) == NULL) return;
  mrb->code_fetch_hook = NULL;
  int answer = fg_host_tick(fg_of(mrb)->host);
  if (answer != FG_GO_ON) fg_out_of_time(mrb, answer);
}

/* Raises what ends a block, once, or what ends a request, and goes on doing so. */
void fg_out_of_time(mrb_state *mrb, int why)
{
  fg_vm *vm = fg_of(mrb);
  if (why == FG_EXPIRED) expire(mrb);
  if (vm->stops++ == 0) fg_note_places(vm);
  mrb->code_fetch_hook = on_instruction;
  struct RClass *klass = mrb_nil_p(vm->timeout_class) ? mrb->eException_class : mrb_class_ptr(vm->timeout_class);
  mrb_raise(mrb, klass, "the request took longer than it may");
}

void *fg_vm_alarm(fg_vm *vm)
{
  return &vm->mrb->code_fetch_hook;
}

/* Called by the watchdog's thread: one aligned pointer is stored, which the interpreter reads at each instruction. */
void fg_alarm_set(void *address)
{
  __atomic_store_n((void **)address, (void *)on_instruction, __ATOMIC_RELEASE);
}

int fg_can_stop(void) { return 1; }
#else
void *fg_vm_alarm(fg_vm *vm) { (void)vm; return NULL; }
void fg_look_at_clock(mrb_state *mrb) { (void)mrb; }
void fg_out_of_time(mrb_state *mrb, int why)
{
  fg_vm *vm = fg_of(mrb);
  if (why == FG_EXPIRED) expire(mrb);
  vm->stops++;
  mrb_raise(mrb, mrb_class_ptr(vm->timeout_class), "the request took longer than it may");
}
void fg_alarm_set(void *address) { (void)address; }
int fg_can_stop(void) { return 0; }
#endif

/* Forgets alarms, when a call is over. */
void fg_vm_calm(fg_vm *vm)
{
#ifdef MRB_USE_DEBUG_HOOK
  vm->mrb->code_fetch_hook = NULL;
#endif
  vm->stops = 0;
  vm->out_of_memory = false;
  vm->place_count = 0;
}

/* --- errors ----------------------------------------------------------------------------------------------------- */

static mrb_value report_body(mrb_state *mrb, void *data)
{
  mrb_value exception = *(mrb_value *)data;
  fg_vm *vm = fg_of(mrb);
  const char *klass = mrb_obj_classname(mrb, exception);
  mrb_value message = mrb_obj_as_string(mrb, exception);
  fg_host_error(vm->host, klass, strlen(klass), RSTRING_PTR(message), RSTRING_LEN(message));
  mrb_value trace = mrb_funcall(mrb, exception, "backtrace", 0);
  if (!mrb_array_p(trace)) return mrb_nil_value();
  for (mrb_int i = 0; i < RARRAY_LEN(trace) && i < 200; i++) {
    mrb_value line = mrb_obj_as_string(mrb, RARRAY_PTR(trace)[i]);
    fg_host_frame(vm->host, RSTRING_PTR(line), RSTRING_LEN(line));
  }
  return mrb_nil_value();
}

static mrb_value causes_body(mrb_state *mrb, void *data)
{
  mrb_value module = mrb_obj_value(mrb_module_get(mrb, "FoolsGold"));
  mrb_value lines = mrb_funcall(mrb, module, "causes", 1, *(mrb_value *)data);
  for (mrb_int i = 0; mrb_array_p(lines) && i < RARRAY_LEN(lines); i++) {
    mrb_value line = mrb_obj_as_string(mrb, RARRAY_PTR(lines)[i]);
    fg_host_frame(fg_of(mrb)->host, RSTRING_PTR(line), RSTRING_LEN(line));
  }
  return mrb_nil_value();
}

/* Tells the host of an exception. An exception whose own methods raise is told by its class alone. */
void fg_report(fg_vm *vm, mrb_value exception)
{
  mrb_bool failed = FALSE;
  mrb_state *mrb = vm->mrb;
  mrb->exc = NULL;
  mrb_protect_error(mrb, report_body, &exception, &failed);
  if (failed) {
    const char *klass = mrb_obj_classname(mrb, exception);
    fg_host_error(vm->host, klass, strlen(klass), "(its message could not be made)", 31);
  }
  mrb->exc = NULL;
  mrb_protect_error(mrb, causes_body, &exception, &failed);
  mrb->exc = NULL;
}

/* Runs `body`; says how it ended, having told the host of an exception. */
int fg_guard(fg_vm *vm, fg_body *body, void *data)
{
  mrb_state *mrb = vm->mrb;
  int arena = mrb_gc_arena_save(mrb);
  mrb_bool failed = FALSE;
  const char *outer = vm->stack;
  vm->stack = __builtin_frame_address(0);
  mrb_value result = mrb_protect_error(mrb, body, data, &failed);
  vm->stack = outer;
  int ended = FG_DONE;
  if (failed) {
    struct RClass *klass = mrb_obj_class(mrb, result);
    if (vm->stops > 0) ended = FG_STOPPED;
    else if (vm->out_of_memory && klass == mrb_obj_class(mrb, mrb_obj_value(mrb->nomem_err))) ended = FG_NO_MEMORY;
    else ended = FG_RAISED;
    if (ended == FG_RAISED) fg_report(vm, result);
    else fg_report_places(vm);
  }
  mrb->exc = NULL;
  mrb_gc_arena_restore(mrb, arena);
  return ended;
}

/* --- opening and loading ---------------------------------------------------------------------------------------- */

fg_vm *fg_vm_open(void *host, size_t limit)
{
  fg_vm *vm = calloc(1, sizeof *vm);
  if (vm == NULL) return NULL;
  vm->host = host;
  vm->limit = limit;
  mrb_state *mrb = mrb_open_allocf(allocate, vm);
  if (mrb == NULL || mrb->exc != NULL) {
    vm->closing = true;
    if (mrb) mrb_close(mrb);
    free(vm);
    return NULL;
  }
  vm->mrb = mrb;
  mrb->ud = vm;
  vm->app = vm->template = vm->context_class = vm->input_class = mrb_nil_value();
  vm->stream_class = vm->gone_class = vm->timeout_class = mrb_nil_value();
  vm->keys = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->keys);
  vm->kept = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->kept);
  vm->shapes = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->shapes);
  fg_vm_key(vm, "rack.response_finished", 22);
  fg_vm_key(vm, "fools_gold.context", 18);
  fg_vm_key(vm, "rack.input", 10);
  mrb_define_module(mrb, "FoolsGold");
  fg_rescue_init(mrb, vm);
  fg_load_init(mrb);
  fg_visibility_init(mrb);
  fg_autoload_init(mrb);
  fg_defined_init(mrb);
  fg_globals_init(mrb);
  fg_keywords_init(mrb);
  fg_lists_init(mrb);
  fg_regexp_init(mrb, vm);
  fg_call_init(mrb, vm);
  return vm;
}

void fg_vm_close(fg_vm *vm)
{
  vm->closing = true;
  fg_rescue_close(vm);
  fg_globals_close(vm);
  mrb_close(vm->mrb);
  free(vm);
}

struct natives { const fg_native *rows; size_t count; };

static mrb_value define_body(mrb_state *mrb, void *data)
{
  struct natives *natives = data;
  fg_native_init(mrb, natives->rows, natives->count);
  return mrb_nil_value();
}

void fg_vm_define(fg_vm *vm, const fg_native *rows, size_t count)
{
  struct natives natives = {rows, count};
  fg_guard(vm, define_body, &natives);
}

struct source { const char *text; size_t length; const char *name; };

static mrb_value load_body(mrb_state *mrb, void *data)
{
  struct source *source = data;
  return fg_run_source(mrb, source->text, source->length, source->name, mrb_top_self(mrb));
}

int fg_vm_load(fg_vm *vm, const char *text, size_t length, const char *name)
{
  struct source source = {text, length, name};
  return fg_guard(vm, load_body, &source);
}

static mrb_value constant(mrb_state *mrb, mrb_value module, const char *name)
{
  return mrb_const_get(mrb, module, mrb_intern_cstr(mrb, name));
}

/* A constant of FoolsGold, kept for good: the application may give the name to something else. */
static mrb_value keep(mrb_state *mrb, mrb_value module, const char *name)
{
  mrb_value value = constant(mrb, module, name);
  mrb_gc_register(mrb, value);
  return value;
}

static mrb_value start_body(mrb_state *mrb, void *data)
{
  fg_vm *vm = fg_of(mrb);
  struct source *source = data;
  mrb_value module = constant(mrb, mrb_obj_value(mrb->object_class), "FoolsGold");
  vm->template = keep(mrb, module, "ENVIRONMENT");
  vm->context_class = keep(mrb, module, "RequestContext");
  vm->input_class = keep(mrb, module, "Input");
  vm->stream_class = keep(mrb, module, "Stream");
  vm->gone_class = keep(mrb, module, "ClientGone");
  vm->timeout_class = keep(mrb, module, "RequestTimeout");
  mrb_value path = mrb_str_new(mrb, source->text, source->length);
  vm->app = mrb_funcall(mrb, module, "start", 1, path);
  mrb_gc_register(mrb, vm->app);
  return mrb_nil_value();
}

extern void fg_watch_operators(mrb_state *) __attribute__((weak));

/* Loads the application; after this the interpreter answers fg_vm_call. The application may redefine operators. */
int fg_vm_start(fg_vm *vm, const char *rackup, size_t length)
{
  struct source source = {rackup, length, NULL};
  if (fg_watch_operators) fg_watch_operators(vm->mrb);
  int ended = fg_guard(vm, start_body, &source);
  if (ended == FG_DONE) mrb_full_gc(vm->mrb);
  return ended;
}

static mrb_value key_body(mrb_state *mrb, void *data)
{
  struct source *source = data;
  mrb_value name = mrb_obj_freeze(mrb, mrb_str_new(mrb, source->text, source->length));
  mrb_ary_push(mrb, fg_of(mrb)->keys, name);
  return mrb_nil_value();
}

/* Makes a frozen string to be used as a key of every environment; FG_NO_KEY where there is no memory for it. */
uint32_t fg_vm_key(fg_vm *vm, const char *name, size_t length)
{
  struct source source = {name, length, NULL};
  if (fg_guard(vm, key_body, &source) != FG_DONE) return FG_NO_KEY;
  return (uint32_t)(RARRAY_LEN(vm->keys) - 1);
}

extern uint64_t fg_hash_seed __attribute__((weak));

/* Before the first interpreter is opened: makes the hashes of strings unforeseeable. */
void fg_seed(uint64_t seed)
{
  if (&fg_hash_seed) fg_hash_seed = seed;
}

size_t fg_vm_used(const fg_vm *vm) { return vm->used; }

bool fg_vm_hit_limit(const fg_vm *vm) { return vm->out_of_memory; }

const char *fg_version(void) { return MRUBY_RUBY_ENGINE " " MRUBY_VERSION; }
