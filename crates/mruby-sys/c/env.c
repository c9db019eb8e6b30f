/* The Rack environment of a request: a Hash of some thirty pairs, and the most expensive part of a short call.
 *
 * Requests of one client, and mostly of all, have the same keys in the same order: a *shape*. For each shape there is a
 * Hash with these keys, which is copied as a block of memory; the values are then set by position, and no key is
 * hashed. Without a shape, or with an mruby without our patch, the Hash is built pair by pair. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Pairs beyond which a request has no shape. */
#define SHAPE_PAIRS_MAX 64
/* Room for pairs that middleware adds: a Hash that grows beyond its capacity is rehashed. */
#define SPARE_PAIRS 16
/* The values of rack.response_finished, fools_gold.context and rack.input, behind those of the pairs. */
#define OBJECTS 3

extern void fg_hash_fill(mrb_state *, mrb_value, const mrb_value *, uint32_t) __attribute__((weak));

static mrb_value key_at(fg_vm *vm, uint32_t key) { return RARRAY_PTR(vm->keys)[key]; }

static int copy_pair(mrb_state *mrb, mrb_value key, mrb_value value, void *data)
{
  mrb_hash_set(mrb, *(mrb_value *)data, key, value);
  return 0;
}

static void copy_constants(mrb_state *mrb, mrb_value env)
{
  mrb_hash_foreach(mrb, mrb_hash_ptr(fg_of(mrb)->template), copy_pair, &env);
}

/* Its id is the String that the environment has. */
static mrb_value context_new(mrb_state *mrb, mrb_value id)
{
  fg_vm *vm = fg_of(mrb);
  mrb_value context = mrb_obj_value(mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb_class_ptr(vm->context_class)));
  mrb_iv_set(mrb, context, SYM(mrb, id), id);
  return context;
}

/* FoolsGold::Input#initialize(run), which is in C because each request has one: `run` is the number of its request. All
 * its variables are copied at once, and then one of them is set. */
static mrb_value input_initialize(mrb_state *mrb, mrb_value self, mrb_value run)
{
  mrb_iv_copy(mrb, self, fg_of(mrb)->fresh_input);
  mrb_iv_set(mrb, self, SYM(mrb, run), run);
  return self;
}

static mrb_value input_initialize_of(mrb_state *mrb, mrb_value self)
{
  return input_initialize(mrb, self, mrb_get_arg1(mrb));
}

/* Also for a request without a body: an application may close it. */
static mrb_value input_new(mrb_state *mrb)
{
  fg_vm *vm = fg_of(mrb);
  mrb_value input = mrb_obj_value(mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb_class_ptr(vm->input_class)));
  return input_initialize(mrb, input, mrb_int_value(mrb, vm->run));
}

/* The String of a value. With bytes beyond ASCII it is a String of bytes, as the Rack SPEC asks, since their encoding
 * is not known. */
static mrb_value string_of(mrb_state *mrb, const fg_pair *pair)
{
  mrb_value text = mrb_str_new(mrb, pair->bytes, pair->length);
  if (!fg_is_ascii_text(pair->bytes, pair->length)) fg_bytes_mark(text, true);
  return text;
}

/* The frozen String of the last request if it has the same bytes; else a new one, which replaces it. */
static mrb_value steady_value(mrb_state *mrb, const fg_pair *pair)
{
  mrb_value kept = mrb_ary_entry(fg_of(mrb)->kept, pair->key);
  if (mrb_string_p(kept) && (size_t)RSTRING_LEN(kept) == pair->length &&
      memcmp(RSTRING_PTR(kept), pair->bytes, pair->length) == 0) {
    return kept;
  }
  mrb_value fresh = mrb_obj_freeze(mrb, string_of(mrb, pair));
  mrb_ary_set(mrb, fg_of(mrb)->kept, pair->key, fresh);
  return fresh;
}

static mrb_value value_of(mrb_state *mrb, const fg_pair *pair)
{
  if (pair->steady && pair->key != FG_NO_KEY) return steady_value(mrb, pair);
  return string_of(mrb, pair);
}

/* A copy of the shape's Hash with the values set by position. `values` is on the C stack, where the garbage collector
 * does not look; each String is in the arena until fg_env_new restores it, after the Hash has them all. */
static mrb_value by_shape(mrb_state *mrb, const fg_request *request)
{
  mrb_value values[SHAPE_PAIRS_MAX + OBJECTS];
  size_t count = request->count;
  mrb_value env = mrb_hash_dup(mrb, RARRAY_PTR(fg_of(mrb)->shapes)[request->shape]);
  for (size_t i = 0; i < count; i++) {
    uint32_t same = request->pairs[i].same;
    values[i] = same ? values[same - 1] : value_of(mrb, &request->pairs[i]);
  }
  values[count] = mrb_ary_new(mrb);
  values[count + 1] = context_new(mrb, values[request->id_pair - 1]);
  values[count + 2] = input_new(mrb);
  fg_hash_fill(mrb, env, values, (uint32_t)(count + OBJECTS));
  return env;
}

/* The key of a pair: that of the interpreter, or a new String for a name that it does not know. */
static mrb_value pair_key(mrb_state *mrb, const fg_pair *pair)
{
  if (pair->key == FG_NO_KEY) return mrb_str_new(mrb, pair->name, pair->name_length);
  return key_at(fg_of(mrb), pair->key);
}

/* The value of a pair that the Hash has, by its number, counted from 1. */
static mrb_value value_at(mrb_state *mrb, mrb_value env, const fg_request *request, uint32_t number)
{
  return mrb_hash_get(mrb, env, pair_key(mrb, &request->pairs[number - 1]));
}

/* The arena is restored after each pair: the Hash holds the pair by then, and a request with many headers would make
 * the arena grow. */
static mrb_value pair_by_pair(mrb_state *mrb, const fg_request *request)
{
  fg_vm *vm = fg_of(mrb);
  mrb_value env = mrb_hash_new_capa(mrb, (mrb_int)request->count + SPARE_PAIRS);
  int arena = mrb_gc_arena_save(mrb);
  copy_constants(mrb, env);
  for (size_t i = 0; i < request->count; i++) {
    const fg_pair *pair = &request->pairs[i];
    mrb_value value = pair->same ? value_at(mrb, env, request, pair->same) : value_of(mrb, pair);
    mrb_hash_set(mrb, env, pair_key(mrb, pair), value);
    mrb_gc_arena_restore(mrb, arena);
  }
  mrb_value id = value_at(mrb, env, request, request->id_pair);
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_FINISHED), mrb_ary_new(mrb));
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_CONTEXT), context_new(mrb, id));
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_INPUT), input_new(mrb));
  mrb_gc_arena_restore(mrb, arena);
  return env;
}

mrb_value fg_env_new(mrb_state *mrb, const fg_request *request)
{
  int arena = mrb_gc_arena_save(mrb);
  mrb_value env = request->shape == FG_NO_SHAPE ? pair_by_pair(mrb, request) : by_shape(mrb, request);
  mrb_gc_arena_restore(mrb, arena);
  mrb_gc_protect(mrb, env);
  return env;
}

struct shape { const uint32_t *keys; size_t count; };

static mrb_value shape_body(mrb_state *mrb, void *data)
{
  struct shape *shape = data;
  fg_vm *vm = fg_of(mrb);
  mrb_value env = mrb_hash_new_capa(mrb, (mrb_int)shape->count + SPARE_PAIRS);
  for (size_t i = 0; i < shape->count; i++) mrb_hash_set(mrb, env, key_at(vm, shape->keys[i]), mrb_nil_value());
  if ((size_t)mrb_hash_size(mrb, env) != shape->count) mrb_raise(mrb, E_ARGUMENT_ERROR, "a key is there twice");
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_FINISHED), mrb_nil_value());
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_CONTEXT), mrb_nil_value());
  mrb_hash_set(mrb, env, key_at(vm, FG_KEY_INPUT), mrb_nil_value());
  copy_constants(mrb, env);
  mrb_ary_push(mrb, vm->shapes, env);
  return mrb_nil_value();
}

/* Makes a shape of these keys. FG_NO_SHAPE where a key occurs twice, there are too many, or memory is short. */
uint32_t fg_vm_shape(fg_vm *vm, const uint32_t *keys, size_t count)
{
  struct shape shape = {keys, count};
  if (&fg_hash_fill == NULL || count > SHAPE_PAIRS_MAX) return FG_NO_SHAPE;
  if (fg_guard(vm, shape_body, &shape) != FG_DONE) return FG_NO_SHAPE;
  return (uint32_t)(RARRAY_LEN(vm->shapes) - 1);
}

void fg_env_init(mrb_state *mrb, fg_vm *vm)
{
  vm->symbols.run = mrb_intern_lit(mrb, "@run");
  /* It has the variables of each new input. */
  vm->fresh_input = mrb_obj_value(mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb->object_class));
  mrb_gc_register(mrb, vm->fresh_input);
  mrb_iv_set(mrb, vm->fresh_input, SYM(mrb, run), mrb_nil_value());
  mrb_iv_set(mrb, vm->fresh_input, mrb_intern_lit(mrb, "@position"), mrb_fixnum_value(0));
  mrb_iv_set(mrb, vm->fresh_input, mrb_intern_lit(mrb, "@binary"), mrb_true_value());
  struct RClass *input = mrb_define_class_under(mrb, mrb_module_get(mrb, "FoolsGold"), "Input", mrb->object_class);
  mrb_define_method(mrb, input, "initialize", input_initialize_of, MRB_ARGS_REQ(1));
}
