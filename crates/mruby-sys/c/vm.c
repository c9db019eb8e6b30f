/* Opening, loading and closing an interpreter. Requests are in call.c. */
#include "fg.h"

#include <malloc.h>
#include <stdlib.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <mruby/version.h>

extern void (*fg_on_no_memory)(mrb_state *) __attribute__((weak));

/* Notes that memory is short: what the allocator refused, mruby has asked for a second time after it collected garbage
 * (mruby/patches, memory-limit). */
static void on_no_memory(mrb_state *mrb)
{
  fg_vm *vm = fg_of(mrb);
  if (vm == NULL) return;
  vm->out_of_memory = true;
  fg_note_places(vm);
}

/* What jemalloc has beside malloc: both save it the search for the size of a block, which is known here. */
extern void sdallocx(void *, size_t, int) __attribute__((weak));
extern size_t nallocx(size_t, int) __attribute__((weak));

/* The allocator of mruby, which counts the real size of each block against the limit. When it returns NULL, mruby
 * collects garbage and asks again: only then is memory short. */
static void *allocate(mrb_state *mrb, void *pointer, size_t size, void *data)
{
  fg_vm *vm = data;
  (void)mrb;
  size_t before = pointer ? malloc_usable_size(pointer) : 0;
  /* mruby frees by a size of 0. A failed realloc below leaves the old block, and its count, as they are. */
  if (size == 0) {
    vm->used -= before;
    if (pointer && &sdallocx) sdallocx(pointer, before, 0);
    else free(pointer);
    return NULL;
  }
  if (!vm->closing && size > before && vm->used + (size - before) > vm->limit) return NULL;
  void *fresh = pointer ? realloc(pointer, size) : malloc(size);
  if (fresh == NULL) return NULL;
  size_t after = !pointer && &nallocx ? nallocx(size, 0) : malloc_usable_size(fresh);
  vm->used += after - before;
  return fresh;
}

/* Opens an interpreter; NULL where mruby itself cannot be opened. Of what follows only fg_vm_key is guarded: an
 * exception from the others, which only lack of memory could cause, would abort the process. */
fg_vm *fg_vm_open(void *host, size_t limit)
{
  fg_vm *vm = calloc(1, sizeof *vm);
  if (vm == NULL) return NULL;
  if (&fg_on_no_memory) fg_on_no_memory = on_no_memory;
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
  /* Before anything can run the garbage collector or report an error. These values are protected when they are set. */
  vm->app = vm->template = vm->context_class = vm->input_class = mrb_nil_value();
  vm->stream_class = vm->gone_class = vm->timeout_class = mrb_nil_value();
  vm->keys = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->keys);
  vm->kept = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->kept);
  vm->shapes = mrb_ary_new(mrb);
  mrb_gc_register(mrb, vm->shapes);
  /* In the order of FG_KEY_FINISHED, FG_KEY_CONTEXT and FG_KEY_INPUT. */
  fg_vm_key(vm, "rack.response_finished", 22);
  fg_vm_key(vm, "fools_gold.context", 18);
  fg_vm_key(vm, "rack.input", 10);
  mrb_define_module_under(mrb, mrb_define_module(mrb, "FoolsGold"), "Native");
  fg_guard_init();
  fg_rescue_init(mrb, vm);
  fg_load_init(mrb);
  fg_visibility_init(mrb);
  fg_autoload_init(mrb);
  fg_defined_init(mrb);
  fg_globals_init(mrb);
  fg_keywords_init(mrb);
  fg_lists_init(mrb);
  fg_fiber_init(mrb, vm);
  fg_numbers_init(mrb, vm);
  fg_copies_init(mrb);
  fg_hash_init(mrb, vm);
  fg_regexp_init(mrb, vm);
  fg_finder_setup(mrb, vm);
  fg_match_init(mrb, vm);
  fg_subject_init(mrb, vm);
  fg_scanner_init(mrb);
  fg_binding_init(mrb);
  fg_names_init(mrb);
  fg_bytes_init(mrb);
  fg_env_init(mrb, vm);
  fg_call_init(mrb, vm);
  return vm;
}

void fg_vm_close(fg_vm *vm)
{
  /* From now on the limit does not apply: finalizers may allocate. */
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

struct text { const char *bytes; size_t length; };

static mrb_value constant(mrb_state *mrb, mrb_value module, const char *name)
{
  return mrb_const_get(mrb, module, mrb_intern_cstr(mrb, name));
}

/* A constant of FoolsGold, protected from the garbage collector: the application may redefine the constant. */
static mrb_value keep(mrb_state *mrb, mrb_value module, const char *name)
{
  mrb_value value = constant(mrb, module, name);
  mrb_gc_register(mrb, value);
  return value;
}

static mrb_value start_body(mrb_state *mrb, void *data)
{
  fg_vm *vm = fg_of(mrb);
  struct text *text = data;
  mrb_value module = constant(mrb, mrb_obj_value(mrb->object_class), "FoolsGold");
  vm->template = keep(mrb, module, "ENVIRONMENT");
  vm->context_class = keep(mrb, module, "RequestContext");
  vm->input_class = keep(mrb, module, "Input");
  vm->stream_class = keep(mrb, module, "Stream");
  vm->gone_class = keep(mrb, module, "ClientGone");
  vm->timeout_class = keep(mrb, module, "RequestTimeout");
  vm->app = mrb_funcall(mrb, module, "start", 1, mrb_str_new(mrb, text->bytes, text->length));
  mrb_gc_register(mrb, vm->app);
  return mrb_nil_value();
}

extern void fg_watch_operators(mrb_state *) __attribute__((weak));

/* Loads the application; after this, fg_vm_call works. The virtual machine computes operators of core classes itself
 * until the application redefines one, which it watches for from here on (mruby/patches, operators). */
int fg_vm_start(fg_vm *vm, const char *rackup, size_t length)
{
  struct text text = {rackup, length};
  if (fg_watch_operators) fg_watch_operators(vm->mrb);
  int ended = fg_guard(vm, start_body, &text);
  /* Loading leaves much garbage, which would otherwise be collected during the first requests. */
  if (ended == FG_DONE) mrb_full_gc(vm->mrb);
  return ended;
}

static mrb_value key_body(mrb_state *mrb, void *data)
{
  struct text *text = data;
  mrb_value name = mrb_obj_freeze(mrb, mrb_str_new(mrb, text->bytes, text->length));
  mrb_ary_push(mrb, fg_of(mrb)->keys, name);
  return mrb_nil_value();
}

/* Creates a frozen String as a key of environments, and returns its index; FG_NO_KEY where there is no memory. */
uint32_t fg_vm_key(fg_vm *vm, const char *name, size_t length)
{
  struct text text = {name, length};
  if (fg_guard(vm, key_body, &text) != FG_DONE) return FG_NO_KEY;
  return (uint32_t)(RARRAY_LEN(vm->keys) - 1);
}

extern uint64_t fg_hash_seed __attribute__((weak));

/* Sets the seed of the hash of strings, before the first interpreter is opened: clients must not be able to choose keys
 * that collide. */
void fg_seed(uint64_t seed)
{
  if (&fg_hash_seed) fg_hash_seed = seed;
}

size_t fg_vm_used(const fg_vm *vm) { return vm->used; }

int fg_vm_hit_limit(const fg_vm *vm)
{
  if (vm->stops > 0) return FG_STOPPED;
  return vm->out_of_memory ? FG_NO_MEMORY : FG_DONE;
}

const char *fg_version(void) { return MRUBY_RUBY_ENGINE " " MRUBY_VERSION; }
