/* Calls from Ruby to Rust: one trampoline for all native functions. It converts the arguments to plain values, Rust
 * works on those and returns one, and only then is Ruby's memory touched or an exception raised: no longjmp may cross
 * Rust. */
#include "fg.h"

#include <string.h>

#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Twin: ARGUMENTS_MAX in ruby-native/src/value.rs, which counts the receiver too. */
#define ARGUMENTS_MAX 12

/* FoolsGold::Handle: an object for a value that Rust holds, by its number. `bytes` count towards the memory limit. */
struct handle { uint64_t number; size_t bytes; };

static void handle_free(mrb_state *mrb, void *data)
{
  struct handle *handle = data;
  if (handle == NULL) return;
  fg_release(mrb, handle->bytes);
  fg_host_release(fg_of(mrb)->host, handle->number);
  mrb_free(mrb, handle);
}

static const mrb_data_type handle_type = {"FoolsGold::Handle", handle_free};

/* The object is allocated before its data, and each can raise: what is there by then is freed by the finalizer. Should
 * memory run out before the number is stored, Rust holds the value until the interpreter is closed. */
static mrb_value handle_new(mrb_state *mrb, uint64_t number, size_t bytes)
{
  struct RClass *klass = mrb_class_get_under(mrb, mrb_module_get(mrb, "FoolsGold"), "Handle");
  struct RData *data = mrb_data_object_alloc(mrb, klass, NULL, &handle_type);
  struct handle *handle = mrb_malloc(mrb, sizeof *handle);
  *handle = (struct handle) {number, 0};
  data->data = handle;
  if (!fg_reserve(mrb, bytes)) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
  handle->bytes = bytes;
  return mrb_obj_value(data);
}

static void put_text(fg_value *out, fg_tag tag, mrb_value text)
{
  out->tag = tag;
  out->bytes = RSTRING_PTR(text);
  out->length = (size_t)RSTRING_LEN(text);
}

static void to_plain(mrb_state *mrb, mrb_value value, const mrb_value *json, fg_value *out)
{
  memset(out, 0, sizeof *out);
  switch (mrb_type(value)) {
  case MRB_TT_FALSE: out->tag = mrb_nil_p(value) ? FG_NIL : FG_FALSE; return;
  case MRB_TT_TRUE: out->tag = FG_TRUE; return;
  case MRB_TT_INTEGER: out->tag = FG_INT; out->integer = mrb_integer(value); return;
  case MRB_TT_FLOAT: out->tag = FG_FLOAT; out->number = mrb_float(value); return;
  case MRB_TT_STRING: put_text(out, fg_bytes_marked(value) ? FG_BYTES : FG_STR, value); return;
  /* Short symbols are unpacked into a buffer that the next one reuses, so the text is taken as an object. */
  case MRB_TT_SYMBOL: put_text(out, FG_SYM, mrb_sym_str(mrb, mrb_symbol(value))); return;
  case MRB_TT_CDATA:
    if (DATA_TYPE(value) == &handle_type && DATA_PTR(value) != NULL) {
      out->tag = FG_HANDLE;
      out->integer = (int64_t)((struct handle *)DATA_PTR(value))->number;
      return;
    }
  /* fall through */
  default: {
    mrb_value tree = mrb_str_new_capa(mrb, 256);
    fg_tree_encode(mrb, tree, value, json, 0);
    put_text(out, FG_TREE, tree);
  }
  }
}

/* Whether a value may need Ruby code to be converted. */
static bool is_structure(mrb_value value)
{
  switch (mrb_type(value)) {
  case MRB_TT_FALSE: case MRB_TT_TRUE: case MRB_TT_INTEGER: case MRB_TT_FLOAT: case MRB_TT_STRING: case MRB_TT_SYMBOL:
    return false;
  default: return true;
  }
}

/* The class or module named `A::B`; StandardError where there is none. May load the library that an autoload names. */
static struct RClass *class_named(mrb_state *mrb, const char *name, size_t length)
{
  struct RClass *at = mrb->object_class;
  const char *end = name + length;
  while (name < end) {
    const char *colon = memchr(name, ':', (size_t)(end - name));
    size_t part = colon ? (size_t)(colon - name) : (size_t)(end - name);
    mrb_value found = mrb_nil_value();
    mrb_sym symbol = mrb_intern(mrb, name, part);
    if (mrb_const_defined(mrb, mrb_obj_value(at), symbol)) found = mrb_const_get(mrb, mrb_obj_value(at), symbol);
    if (mrb_type(found) != MRB_TT_CLASS && mrb_type(found) != MRB_TT_MODULE) return mrb->eStandardError_class;
    at = mrb_class_ptr(found);
    name += part + 2;
  }
  return at;
}

static mrb_value from_plain(mrb_state *mrb, const fg_value *value)
{
  switch (value->tag) {
  case FG_FALSE: return mrb_false_value();
  case FG_TRUE: return mrb_true_value();
  case FG_INT: return mrb_int_value(mrb, value->integer);
  case FG_FLOAT: return mrb_float_value(mrb, value->number);
  case FG_STR: return mrb_str_new(mrb, value->bytes, value->length);
  case FG_SYM: return mrb_symbol_value(mrb_intern(mrb, value->bytes, value->length));
  case FG_BYTES: {
    mrb_value bytes = mrb_str_new(mrb, value->bytes, value->length);
    fg_bytes_mark(bytes, true);
    return bytes;
  }
  case FG_HANDLE: return handle_new(mrb, (uint64_t)value->integer, value->length);
  case FG_TREE: return fg_tree_decode(mrb, value->bytes, value->length);
  case FG_ERROR: {
    mrb_value message = mrb_str_new(mrb, value->bytes, value->length);
    mrb_exc_raise(mrb, mrb_exc_new_str(mrb, class_named(mrb, value->klass, value->klass_length), message));
  }
  default: return mrb_nil_value();
  }
}

static mrb_value trampoline(mrb_state *mrb, mrb_value self)
{
  const mrb_value *args;
  mrb_int count;
  mrb_value values[ARGUMENTS_MAX + 1];
  fg_value plain[ARGUMENTS_MAX + 1];
  fg_value result = {0};
  size_t used = 0;
  mrb_get_args(mrb, "*!", &args, &count);
  mrb_int row = mrb_integer(mrb_proc_cfunc_env_get(mrb, 0));
  bool receiver = row & 1;
  if (count > ARGUMENTS_MAX) mrb_raisef(mrb, E_ARGUMENT_ERROR, "%i arguments are too many", count);
  /* For JSON the options are argument 1, which also governs how objects inside the value are encoded. */
  mrb_value options = (row & 2) && count > 1 ? args[1] : mrb_nil_value();
  const mrb_value *json = (row & 2) ? &options : NULL;
  /* Copied at once: the arguments are on Ruby's stack, which moves when Ruby code runs. */
  if (receiver) values[used++] = self;
  for (mrb_int i = 0; i < count; i++) values[used++] = args[i];
  int arena = mrb_gc_arena_save(mrb);
  if (!json) {
    for (size_t i = receiver ? 1 : 0; i < used; i++) {
      if (!is_structure(values[i])) continue;
      values[i] = fg_plain(mrb, values[i]);
      /* What a conversion has made is held by nothing else until Rust has read it. */
      if (!mrb_immediate_p(values[i])) mrb_gc_protect(mrb, values[i]);
    }
  }
  /* Structures first: encoding one can run Ruby code, which could change a String that was converted already. */
  for (size_t i = 0; i < used; i++) if (is_structure(values[i])) to_plain(mrb, values[i], json, &plain[i]);
  for (size_t i = 0; i < used; i++) if (!is_structure(values[i])) to_plain(mrb, values[i], json, &plain[i]);
  fg_host_native(fg_of(mrb)->host, (uint32_t)(row >> 2), plain, used, &result);
  /* The result's bytes belong to Rust, so that the arguments may go now. from_plain may raise. */
  mrb_gc_arena_restore(mrb, arena);
  return from_plain(mrb, &result);
}

void fg_native_init(mrb_state *mrb, const fg_native *natives, size_t count)
{
  struct RClass *handle = mrb_define_class_under(mrb, mrb_module_get(mrb, "FoolsGold"), "Handle", mrb->object_class);
  MRB_SET_INSTANCE_TT(handle, MRB_TT_CDATA);
  mrb_undef_class_method(mrb, handle, "new");
  for (size_t i = 0; i < count; i++) {
    const fg_native *row = &natives[i];
    int arena = mrb_gc_arena_save(mrb);
    struct RClass *owner = class_named(mrb, row->owner, strlen(row->owner));
    /* Index and two flags of the row in one number, so that a call reads only one value. */
    mrb_value env = mrb_int_value(mrb, (mrb_int)(i << 2) | (row->receiver ? 1 : 0) | (row->json ? 2 : 0));
    struct RProc *proc = mrb_proc_new_cfunc_with_env(mrb, trampoline, 1, &env);
    mrb_method_t method;
    MRB_METHOD_FROM_PROC(method, proc);
    if (!row->method) owner = mrb_class_ptr(mrb_singleton_class(mrb, mrb_obj_value(owner)));
    mrb_define_method_raw(mrb, owner, mrb_intern_cstr(mrb, row->name), method);
    mrb_gc_arena_restore(mrb, arena);
  }
}
