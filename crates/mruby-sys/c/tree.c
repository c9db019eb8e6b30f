/* Ruby values as bytes: the encoding in which Arrays and Hashes cross the border. Its Rust twin is
 * crates/ruby-native/src/tree.rs.
 *
 * One tag byte, then: n, f, t (nil, false, true) nothing; i (Integer) eight bytes; d (Float) eight bytes of a double; s
 * (String), y (Symbol), r (JSON text or a large Integer) a length and bytes; b a length and bytes that are not read as
 * UTF-8; a (Array) a count and items; h (Hash) a count and pairs. Numbers are little-endian, lengths and counts four
 * bytes. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/numeric.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Levels of nesting, as in CRuby's JSON.generate, which takes deeper data for a circle. */
#define DEPTH_MAX 100
/* Levels of nesting where `max_nesting` allows more: as deep as calls may go (MRB_CALL_LEVEL_MAX). Twin: json/write.rs.
 * */
#define DEPTH_FARTHEST 4000
/* Bytes of the C stack (of 16 MiB, stack.rs) that may be in use when a value is encoded: a `to_json` may call another.
 * */
#define STACK_BYTES (6 << 20)
/* Items between two checks of the deadline timer, where a long request also migrates to a runner. */
#define PAUSE 512

static void put(mrb_state *mrb, mrb_value out, char tag, const void *bytes, size_t length)
{
  mrb_str_cat(mrb, out, &tag, 1);
  if (length > 0) mrb_str_cat(mrb, out, bytes, length);
}

static void put_counted(mrb_state *mrb, mrb_value out, char tag, size_t count)
{
  if (count > UINT32_MAX) mrb_raise(mrb, E_ARGUMENT_ERROR, "value is too large to leave the interpreter");
  uint32_t number = (uint32_t)count;
  put(mrb, out, tag, &number, sizeof number);
}

static void put_bytes(mrb_state *mrb, mrb_value out, char tag, mrb_value text)
{
  put_counted(mrb, out, tag, (size_t)RSTRING_LEN(text));
  mrb_str_cat(mrb, out, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
}

/* Sets the count of the Array or Hash that begins at a place. It is known only now: Ruby code that runs in between may
 * remove items. */
static void set_count(mrb_state *mrb, mrb_value out, mrb_int place, size_t count)
{
  if (count > UINT32_MAX) mrb_raise(mrb, E_ARGUMENT_ERROR, "value is too large to leave the interpreter");
  uint32_t number = (uint32_t)count;
  memcpy(RSTRING_PTR(out) + place + 1, &number, sizeof number);
}

static void encode_array(mrb_state *mrb, mrb_value out, mrb_value array, const mrb_value *json, int depth)
{
  mrb_int place = RSTRING_LEN(out), i = 0;
  put_counted(mrb, out, 'a', 0);
  for (; i < RARRAY_LEN(array); i++) {
    if (i % PAUSE == 0) fg_look_at_clock(mrb);
    fg_tree_encode(mrb, out, mrb_ary_entry(array, i), json, depth + 1);
  }
  set_count(mrb, out, place, (size_t)i);
}

/* The value of a key that the Hash had when encoding began; undef where it was removed since. */
static mrb_value value_of(mrb_state *mrb, mrb_value hash, mrb_value key, mrb_int index, mrb_int count)
{
  mrb_value value = mrb_hash_fetch(mrb, hash, key, mrb_undef_value());
  if (!mrb_undef_p(value) || mrb_hash_size(mrb, hash) != count) return value;
  /* A key that was modified after it was inserted is not found, but was not removed. */
  return mrb_ary_entry(mrb_hash_values(mrb, hash), index);
}

static void encode_hash(mrb_state *mrb, mrb_value out, mrb_value hash, const mrb_value *json, int depth)
{
  mrb_value keys = mrb_hash_keys(mrb, hash);
  mrb_int place = RSTRING_LEN(out), count = RARRAY_LEN(keys);
  size_t written = 0;
  put_counted(mrb, out, 'h', 0);
  for (mrb_int i = 0; i < count; i++) {
    if (i % PAUSE == 0) fg_look_at_clock(mrb);
    int arena = mrb_gc_arena_save(mrb);
    mrb_value key = mrb_ary_entry(keys, i);
    mrb_value value = value_of(mrb, hash, key, i, count);
    if (mrb_undef_p(value)) { mrb_gc_arena_restore(mrb, arena); continue; }
    /* The key's `to_s` may remove the pair, and with it the last reference to the value. */
    mrb_gc_protect(mrb, value);
    if (json) put_bytes(mrb, out, 's', mrb_obj_as_string(mrb, key));
    else fg_tree_encode(mrb, out, key, json, depth + 1);
    fg_tree_encode(mrb, out, value, json, depth + 1);
    mrb_gc_arena_restore(mrb, arena);
    written++;
  }
  set_count(mrb, out, place, written);
}

/* Whether the value is a Rational, a BigDecimal or another number that is an object. */
static bool is_number_object(mrb_state *mrb, mrb_value value)
{
  return mrb_obj_is_kind_of(mrb, value, mrb_class_get(mrb, "Numeric"));
}

mrb_value fg_plain(mrb_state *mrb, mrb_value value)
{
  static const char *const names[] = {"to_str", "to_int", "to_ary", "to_hash"};
  if (mrb_immediate_p(value) || mrb_type(value) != MRB_TT_OBJECT) return value;
  if (is_number_object(mrb, value) && mrb_respond_to(mrb, value, mrb_intern_lit(mrb, "to_f"))) {
    mrb_value made = mrb_funcall(mrb, value, "to_f", 0);
    if (!mrb_float_p(made)) return value;
    /* An Integer stands only for a whole number. */
    if (mrb_test(mrb_funcall(mrb, made, "finite?", 0)) && mrb_respond_to(mrb, value, mrb_intern_lit(mrb, "to_i"))) {
      mrb_value whole = mrb_funcall(mrb, value, "to_i", 0);
      if (mrb_integer_p(whole) && mrb_equal(mrb, whole, value)) return whole;
    }
    return made;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mrb_sym name = mrb_intern_cstr(mrb, names[i]);
    if (!mrb_respond_to(mrb, value, name)) continue;
    mrb_value made = mrb_funcall_argv(mrb, value, name, 0, NULL);
    bool right = i == 0 ? mrb_string_p(made) : i == 1 ? mrb_integer_p(made)
                 : i == 2 ? mrb_array_p(made) : mrb_hash_p(made);
    return right ? made : value;
  }
  return value;
}

/* Encodes an object that is no plain value. For JSON it is asked for `to_json`, else for `to_s`; otherwise for a
 * conversion. TypeError where it has none. */
static void encode_object(mrb_state *mrb, mrb_value out, mrb_value value, const mrb_value *json, int depth)
{
  if (!json) {
    /* As another class it would lose digits, or its scale. */
    mrb_value made = is_number_object(mrb, value) ? value : fg_plain(mrb, value);
    if (!mrb_obj_eq(mrb, made, value)) {
      fg_tree_encode(mrb, out, made, json, depth + 1);
      return;
    }
    mrb_raisef(mrb, E_TYPE_ERROR,
               "%T cannot leave the interpreter: use nil, true, false, Integers, Floats, strings, symbols, arrays "
               "and hashes",
               value);
  }
  if (mrb_respond_to(mrb, value, mrb_intern_lit(mrb, "to_json"))) {
    /* The state gives the inner JSON the layout and the depth of the outer one. */
    mrb_value library = mrb_obj_value(mrb_module_get(mrb, "JSON"));
    mrb_value state = mrb_funcall(mrb, library, "__state", 2, *json, mrb_fixnum_value(depth));
    mrb_value text = mrb_funcall(mrb, value, "to_json", 1, state);
    if (mrb_nil_p(text)) mrb_raise(mrb, E_TYPE_ERROR, "wrong argument type nil (expected String)");
    if (!mrb_string_p(text)) mrb_raisef(mrb, E_TYPE_ERROR, "wrong argument type %T (expected String)", text);
    put_bytes(mrb, out, 'r', text);
    return;
  }
  put_bytes(mrb, out, 's', mrb_obj_as_string(mrb, value));
}

/* Whether the value's class is one of the application's with a `to_json` of its own: a subclass of String, Array or
 * Hash. */
static bool has_own_json(mrb_state *mrb, mrb_value value, struct RClass *plain)
{
  struct RClass *klass = mrb_class(mrb, value);
  if (klass == plain) return false;
  mrb_method_t method = mrb_method_search_vm(mrb, &klass, mrb_intern_lit(mrb, "to_json"));
  if (MRB_METHOD_UNDEF_P(method)) return false;
  for (; plain != NULL; plain = plain->super) if (klass == plain) return false;
  return true;
}

static struct RClass *plain_class(mrb_state *mrb, mrb_value value)
{
  switch (mrb_type(value)) {
  case MRB_TT_STRING: return mrb->string_class;
  case MRB_TT_ARRAY: return mrb->array_class;
  case MRB_TT_HASH: return mrb->hash_class;
  default: return NULL;
  }
}

/* Levels of nesting that the options of JSON allow. */
static int deepest(mrb_state *mrb, const mrb_value *json)
{
  if (json == NULL || !mrb_hash_p(*json)) return DEPTH_MAX;
  mrb_value name = mrb_symbol_value(mrb_intern_lit(mrb, "max_nesting"));
  mrb_value limit = mrb_hash_fetch(mrb, *json, name, mrb_fixnum_value(DEPTH_MAX));
  if (!mrb_integer_p(limit) || mrb_integer(limit) == 0) return DEPTH_FARTHEST;
  /* A lower limit is checked in json/write.rs. */
  if (mrb_integer(limit) < DEPTH_MAX) return DEPTH_MAX;
  return mrb_integer(limit) < DEPTH_FARTHEST ? (int)mrb_integer(limit) : DEPTH_FARTHEST;
}

/* Raises SystemStackError where too much of the C stack is in use: nested data recurses here, and an overflow of the
 * coroutine's stack would kill the process. */
static void check_stack(mrb_state *mrb)
{
  if (fg_stack_used(mrb) < STACK_BYTES) return;
  mrb_raise(mrb, mrb->stack_err->c, "stack level too deep");
}

void fg_tree_encode(mrb_state *mrb, mrb_value out, mrb_value value, const mrb_value *json, int depth)
{
  int arena = mrb_gc_arena_save(mrb);
  check_stack(mrb);
  if (depth > DEPTH_MAX && depth > deepest(mrb, json)) {
    struct RClass *klass = E_ARGUMENT_ERROR;
    if (json && mrb_const_defined(mrb, mrb_obj_value(mrb->object_class), mrb_intern_lit(mrb, "JSON"))) {
      klass = mrb_class_get_under(mrb, mrb_module_get(mrb, "JSON"), "NestingError");
    }
    mrb_raisef(mrb, klass, "nesting of %d is too deep", depth);
  }
  /* Ruby code that runs while the value is encoded may drop the last reference to it. */
  if (!mrb_immediate_p(value)) mrb_gc_protect(mrb, value);
  struct RClass *plain = json ? plain_class(mrb, value) : NULL;
  if (plain && has_own_json(mrb, value, plain)) {
    encode_object(mrb, out, value, json, depth);
    mrb_gc_arena_restore(mrb, arena);
    return;
  }
  switch (mrb_type(value)) {
  case MRB_TT_FALSE: put(mrb, out, mrb_nil_p(value) ? 'n' : 'f', NULL, 0); break;
  case MRB_TT_TRUE: put(mrb, out, 't', NULL, 0); break;
  case MRB_TT_INTEGER: {
    int64_t number = mrb_integer(value);
    put(mrb, out, 'i', &number, sizeof number);
    break;
  }
  case MRB_TT_FLOAT: {
    double number = mrb_float(value);
    put(mrb, out, 'd', &number, sizeof number);
    break;
  }
  case MRB_TT_BIGINT: put_bytes(mrb, out, 'r', mrb_obj_as_string(mrb, value)); break;
  case MRB_TT_STRING: put_bytes(mrb, out, !json && fg_bytes_marked(value) ? 'b' : 's', value); break;
  case MRB_TT_SYMBOL: put_bytes(mrb, out, json ? 's' : 'y', mrb_sym_str(mrb, mrb_symbol(value))); break;
  case MRB_TT_ARRAY: encode_array(mrb, out, value, json, depth); break;
  case MRB_TT_HASH: encode_hash(mrb, out, value, json, depth); break;
  default: encode_object(mrb, out, value, json, depth); break;
  }
  mrb_gc_arena_restore(mrb, arena);
}

/* The unread part of an encoded tree. The bytes are Rust's, which live until the next native function runs; or those of
 * `copy`, an object that only this reader knows, once it is not empty. */
struct reader { const char *at, *end; mrb_value copy; };

/* Copies the unread bytes, before Ruby code runs that may call native functions. */
static void keep_rest(mrb_state *mrb, struct reader *reader)
{
  size_t rest = (size_t)(reader->end - reader->at);
  if (RSTRING_LEN(reader->copy) > 0 || rest == 0) return;
  mrb_str_cat(mrb, reader->copy, reader->at, rest);
  reader->at = RSTRING_PTR(reader->copy);
  reader->end = reader->at + rest;
}

/* Whether a Hash finds a key without calling its `hash` and `eql?`, which the application may have defined anew. */
static bool is_plain_key(mrb_value key)
{
  switch (mrb_type(key)) {
  case MRB_TT_STRING: case MRB_TT_SYMBOL: case MRB_TT_INTEGER: case MRB_TT_FLOAT: return true;
  default: return false;
  }
}

static mrb_noreturn void short_tree(mrb_state *mrb)
{
  mrb_raise(mrb, E_RUNTIME_ERROR, "a value from the server is cut short: this is a fault of FoolsGold");
}

static const char *take(mrb_state *mrb, struct reader *reader, size_t length)
{
  if ((size_t)(reader->end - reader->at) < length) short_tree(mrb);
  const char *bytes = reader->at;
  reader->at += length;
  return bytes;
}

static uint32_t take_count(mrb_state *mrb, struct reader *reader)
{
  uint32_t count;
  memcpy(&count, take(mrb, reader, sizeof count), sizeof count);
  return count;
}

static mrb_value decode(mrb_state *mrb, struct reader *reader, int depth);

static mrb_value decode_array(mrb_state *mrb, struct reader *reader, int depth)
{
  uint32_t count = take_count(mrb, reader);
  mrb_value array = mrb_ary_new(mrb);
  for (uint32_t i = 0; i < count; i++) {
    if (i % PAUSE == 0) fg_look_at_clock(mrb);
    /* The Array holds the item once it is pushed; without this a long Array would fill the arena. */
    int arena = mrb_gc_arena_save(mrb);
    mrb_ary_push(mrb, array, decode(mrb, reader, depth + 1));
    mrb_gc_arena_restore(mrb, arena);
  }
  return array;
}

static mrb_value decode_hash(mrb_state *mrb, struct reader *reader, int depth)
{
  uint32_t count = take_count(mrb, reader);
  mrb_value hash = mrb_hash_new(mrb);
  for (uint32_t i = 0; i < count; i++) {
    if (i % PAUSE == 0) fg_look_at_clock(mrb);
    int arena = mrb_gc_arena_save(mrb);
    mrb_value key = decode(mrb, reader, depth + 1), value = decode(mrb, reader, depth + 1);
    if (!is_plain_key(key)) keep_rest(mrb, reader);
    mrb_hash_set(mrb, hash, key, value);
    mrb_gc_arena_restore(mrb, arena);
  }
  return hash;
}

/* Decodes a value. It may nest twice as deep as DEPTH_MAX, for JSON.parse (json/read.rs); the bound keeps a malformed
 * tree from exhausting the stack. */
static mrb_value decode(mrb_state *mrb, struct reader *reader, int depth)
{
  if (depth > 2 * DEPTH_MAX) short_tree(mrb);
  char tag = *take(mrb, reader, 1);
  switch (tag) {
  case 'n': return mrb_nil_value();
  case 'f': return mrb_false_value();
  case 't': return mrb_true_value();
  case 'i': {
    int64_t number;
    memcpy(&number, take(mrb, reader, sizeof number), sizeof number);
    return mrb_int_value(mrb, number);
  }
  case 'd': {
    double number;
    memcpy(&number, take(mrb, reader, sizeof number), sizeof number);
    return mrb_float_value(mrb, number);
  }
  case 's': case 'y': case 'r': case 'b': {
    uint32_t length = take_count(mrb, reader);
    const char *bytes = take(mrb, reader, length);
    if (tag == 'y') return mrb_symbol_value(mrb_intern(mrb, bytes, length));
    mrb_value text = mrb_str_new(mrb, bytes, length);
    if (tag == 'b') fg_bytes_mark(text, true);
    return tag == 'r' ? mrb_str_to_integer(mrb, text, 10, TRUE) : text;
  }
  case 'a': return decode_array(mrb, reader, depth);
  case 'h': return decode_hash(mrb, reader, depth);
  default: short_tree(mrb);
  }
}

mrb_value fg_tree_decode(mrb_state *mrb, const char *bytes, size_t length)
{
  struct reader reader = {bytes, bytes + length, mrb_str_new(mrb, "", 0)};
  return decode(mrb, &reader, 0);
}
