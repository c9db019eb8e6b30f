/* StringScanner: its position in the String, and its last match. For a pattern the text begins at that position, so
 * that `\A` and `^` match there; with `fixed_anchor: true` it begins at its own beginning. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/string.h>
#include <mruby/variable.h>

struct scanner {
  size_t position, before; /* now, and before the last match */
  size_t *slots, count;    /* of the last match; a count of 0 where there is none */
  bool fixed;              /* fixed_anchor */
  uint8_t kind;            /* of the text, as long as it has the length below */
  size_t length;
};

/* Finalizer, and also called by a second `initialize`. */
static void scanner_free(mrb_state *mrb, void *data)
{
  if (data) mrb_free(mrb, ((struct scanner *)data)->slots);
  mrb_free(mrb, data);
}

static const mrb_data_type scanner_type = {"StringScanner", scanner_free};

/* Interned once, since each step of a scanner reads these variables. */
#define STRING fg_of(mrb)->scanner_string
#define PATTERN fg_of(mrb)->scanner_pattern

static struct scanner *scanner_of(mrb_state *mrb, mrb_value self)
{
  struct scanner *scanner = DATA_PTR(self);
  if (scanner == NULL) mrb_raise(mrb, E_ARGUMENT_ERROR, "uninitialized StringScanner object");
  return scanner;
}

static mrb_value string_of(mrb_state *mrb, mrb_value self)
{
  mrb_value string = mrb_iv_get(mrb, self, STRING);
  if (!mrb_string_p(string)) mrb_raise(mrb, E_ARGUMENT_ERROR, "uninitialized StringScanner object");
  return string;
}

static void begin(mrb_state *mrb, mrb_value self, mrb_value string)
{
  string = mrb_ensure_string_type(mrb, string);
  struct scanner *scanner = scanner_of(mrb, self);
  mrb_iv_set(mrb, self, STRING, string);
  scanner->position = scanner->before = scanner->count = 0;
  scanner->kind = FG_TEXT_UNKNOWN;
}

/* Gives the object an empty state. */
static struct scanner *anew(mrb_state *mrb, mrb_value self)
{
  scanner_free(mrb, DATA_PTR(self));
  /* NULL first: should mrb_calloc raise, the finalizer must not free the old memory again. */
  mrb_data_init(self, NULL, &scanner_type);
  mrb_data_init(self, mrb_calloc(mrb, 1, sizeof(struct scanner)), &scanner_type);
  return DATA_PTR(self);
}

/* The option fixed_anchor, which is the only one. */
static bool is_fixed(mrb_state *mrb, mrb_value options)
{
  mrb_value name = mrb_symbol_value(mrb_intern_lit(mrb, "fixed_anchor")), names = mrb_hash_keys(mrb, options);
  for (mrb_int i = 0; i < RARRAY_LEN(names); i++) {
    mrb_value other = mrb_ary_ref(mrb, names, i);
    if (!mrb_obj_eq(mrb, other, name)) mrb_raisef(mrb, E_ARGUMENT_ERROR, "unknown keyword: %!v", other);
  }
  return mrb_test(mrb_hash_get(mrb, options, name));
}

static mrb_value initialize(mrb_state *mrb, mrb_value self)
{
  const mrb_value *args;
  mrb_int count;
  mrb_get_args(mrb, "*", &args, &count);
  if (count < 1) mrb_argnum_error(mrb, count, 1, 2);
  mrb_value string = mrb_ensure_string_type(mrb, args[0]);
  bool fixed = count > 1 && mrb_hash_p(args[count - 1]) && is_fixed(mrb, args[count - 1]);
  anew(mrb, self)->fixed = fixed;
  begin(mrb, self, string);
  return self;
}

/* For dup and clone: both read the same String. */
static mrb_value initialize_copy(mrb_state *mrb, mrb_value self)
{
  mrb_value other;
  mrb_get_args(mrb, "o", &other);
  if (mrb_obj_equal(mrb, self, other)) return self;
  const struct scanner *from = mrb_data_check_get_ptr(mrb, other, &scanner_type);
  if (from == NULL) mrb_raise(mrb, E_ARGUMENT_ERROR, "uninitialized StringScanner object");
  struct scanner *to = anew(mrb, self);
  if (from->count > 0) to->slots = mrb_malloc(mrb, from->count * sizeof *from->slots);
  size_t *slots = to->slots;
  *to = *from;
  to->slots = slots;
  if (from->count > 0) memcpy(slots, from->slots, from->count * sizeof *slots);
  mrb_iv_set(mrb, self, STRING, mrb_iv_get(mrb, other, STRING));
  mrb_iv_set(mrb, self, PATTERN, mrb_iv_get(mrb, other, PATTERN));
  return self;
}

static mrb_value set_string(mrb_state *mrb, mrb_value self)
{
  mrb_value string;
  mrb_get_args(mrb, "o", &string);
  begin(mrb, self, string);
  return string;
}

/* Keeps the positions of a match. The pattern is kept for groups by name. */
static void remember(mrb_state *mrb, mrb_value self, const size_t *slots, size_t count, mrb_value pattern)
{
  struct scanner *scanner = scanner_of(mrb, self);
  if (count > scanner->count || scanner->slots == NULL) {
    scanner->slots = mrb_realloc(mrb, scanner->slots, count * sizeof *slots);
  }
  memcpy(scanner->slots, slots, count * sizeof *slots);
  scanner->count = count;
  mrb_iv_set(mrb, self, PATTERN, pattern);
}

/* StringScanner#__scan(pattern, advance, text, here): matches at the position (`here`), or searches from there on.
 * Moves the position behind the match (`advance`), and returns the text up to there (`text`) or its length in bytes;
 * nil without a match. */
static mrb_value scan(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern;
  mrb_bool advance, text, here;
  mrb_get_args(mrb, "obbb", &pattern, &advance, &text, &here);
  /* Now: its `to_str` may give this scanner another text. */
  pattern = fg_as_pattern(mrb, pattern);
  mrb_value string = string_of(mrb, self);
  struct scanner *scanner = scanner_of(mrb, self);
  size_t length = (size_t)RSTRING_LEN(string);
  bool found = false;
  fg_finder finder;
  if (scanner->position <= length) {
    /* The kind of the text is found once: to look at all of it at each step would take quadratic time. A String that is
     * changed in place without a change of its length is not noticed. */
    if (scanner->length != length) scanner->kind = FG_TEXT_UNKNOWN;
    size_t base = scanner->fixed ? 0 : scanner->position;
    fg_finder_begin(mrb, &finder, pattern, string, base, scanner->kind);
    scanner->kind = finder.kind;
    scanner->length = length;
    found = fg_find(mrb, &finder, scanner->position, here);
  }
  scanner->count = 0;
  if (!found) return mrb_nil_value();
  remember(mrb, self, finder.slots, finder.room, finder.pattern);
  size_t from = scanner->position, to = finder.slots[1];
  scanner->before = from;
  if (advance) scanner->position = to;
  if (!text) return mrb_fixnum_value((mrb_int)(to - from));
  return fg_bytes_part(mrb, string, (mrb_int)from, (mrb_int)(to - from));
}

/* StringScanner#__matched(from, to): takes these bytes as if a pattern had matched them, and returns their text. */
static mrb_value take(mrb_state *mrb, mrb_value self)
{
  mrb_int from, to;
  mrb_value string = string_of(mrb, self);
  mrb_get_args(mrb, "ii", &from, &to);
  if (from < 0 || to < from || to > RSTRING_LEN(string)) return mrb_nil_value();
  const size_t slots[2] = {(size_t)from, (size_t)to};
  remember(mrb, self, slots, 2, mrb_nil_value());
  scanner_of(mrb, self)->before = slots[0];
  scanner_of(mrb, self)->position = slots[1];
  return fg_bytes_part(mrb, string, from, to - from);
}

static mrb_value forget(mrb_state *mrb, mrb_value self)
{
  scanner_of(mrb, self)->count = 0;
  return mrb_nil_value();
}

static mrb_value unscan(mrb_state *mrb, mrb_value self)
{
  struct scanner *scanner = scanner_of(mrb, self);
  if (scanner->count == 0) {
    struct RClass *klass = mrb_class_get_under(mrb, mrb_class_get(mrb, "StringScanner"), "Error");
    mrb_raise(mrb, klass, "unscan error: previous match record not exist");
  }
  scanner->position = scanner->before;
  scanner->count = 0;
  return self;
}

static mrb_value position(mrb_state *mrb, mrb_value self)
{
  return mrb_fixnum_value((mrb_int)scanner_of(mrb, self)->position);
}

static mrb_value set_position(mrb_state *mrb, mrb_value self)
{
  mrb_int to, length = RSTRING_LEN(string_of(mrb, self));
  mrb_get_args(mrb, "i", &to);
  if (to < 0) to += length;
  if (to < 0 || to > length) mrb_raise(mrb, E_RANGE_ERROR, "index out of range");
  scanner_of(mrb, self)->position = (size_t)to;
  return mrb_fixnum_value(to);
}

static mrb_value is_at_end(mrb_state *mrb, mrb_value self)
{
  return mrb_bool_value(scanner_of(mrb, self)->position >= (size_t)RSTRING_LEN(string_of(mrb, self)));
}

static mrb_value has_fixed_anchor(mrb_state *mrb, mrb_value self)
{
  return mrb_bool_value(scanner_of(mrb, self)->fixed);
}

static mrb_value piece(mrb_state *mrb, mrb_value self, size_t from, size_t to)
{
  mrb_value string = string_of(mrb, self);
  size_t length = (size_t)RSTRING_LEN(string);
  if (from > length) return mrb_nil_value();
  if (to > length) to = length;
  return fg_bytes_part(mrb, string, (mrb_int)from, (mrb_int)(to - from));
}

static mrb_value group(mrb_state *mrb, mrb_value self, mrb_int number)
{
  struct scanner *scanner = scanner_of(mrb, self);
  mrb_int count = (mrb_int)scanner->count / 2;
  if (number < 0) number += count;
  if (number < 0 || number >= count) return mrb_nil_value();
  size_t from = scanner->slots[2 * number], to = scanner->slots[2 * number + 1];
  return from == FG_UNSET || to == FG_UNSET ? mrb_nil_value() : piece(mrb, self, from, to);
}

static mrb_value matched(mrb_state *mrb, mrb_value self) { return group(mrb, self, 0); }

/* scanner[1], scanner[:name] */
static mrb_value aref(mrb_state *mrb, mrb_value self)
{
  mrb_value which;
  mrb_get_args(mrb, "o", &which);
  if (scanner_of(mrb, self)->count == 0) return mrb_nil_value();
  if (mrb_symbol_p(which)) which = mrb_sym_str(mrb, mrb_symbol(which));
  if (!mrb_string_p(which)) return group(mrb, self, mrb_as_int(mrb, which));
  mrb_value pattern = mrb_iv_get(mrb, self, PATTERN), found = mrb_nil_value();
  uint32_t number = 0;
  for (size_t i = 0; fg_is_regexp(mrb, pattern); i++) {
    const fg_pattern *native = fg_regexp_pattern(mrb, pattern);
    uint32_t next = fg_pattern_group(native, RSTRING_PTR(which), (size_t)RSTRING_LEN(which), i);
    if (next == 0) break;
    number = next;
    mrb_value text = group(mrb, self, (mrb_int)number);
    if (!mrb_nil_p(text)) found = text;
  }
  if (number == 0) mrb_raisef(mrb, E_INDEX_ERROR, "undefined group name reference: %v", which);
  return found;
}

static mrb_value pre_match(mrb_state *mrb, mrb_value self)
{
  struct scanner *scanner = scanner_of(mrb, self);
  return scanner->count == 0 ? mrb_nil_value() : piece(mrb, self, 0, scanner->slots[0]);
}

static mrb_value post_match(mrb_state *mrb, mrb_value self)
{
  struct scanner *scanner = scanner_of(mrb, self);
  return scanner->count == 0 ? mrb_nil_value() : piece(mrb, self, scanner->slots[1], SIZE_MAX);
}

static mrb_value groups(mrb_state *mrb, mrb_value self)
{
  struct scanner *scanner = scanner_of(mrb, self);
  return scanner->count == 0 ? mrb_nil_value() : mrb_fixnum_value((mrb_int)scanner->count / 2);
}

static mrb_value pattern_of(mrb_state *mrb, mrb_value self) { return mrb_iv_get(mrb, self, PATTERN); }

void fg_scanner_init(mrb_state *mrb)
{
  struct RClass *klass = mrb_define_class(mrb, "StringScanner", mrb->object_class);
  STRING = mrb_intern_lit(mrb, "__string");
  PATTERN = mrb_intern_lit(mrb, "__pattern");
  MRB_SET_INSTANCE_TT(klass, MRB_TT_DATA);
  mrb_define_method(mrb, klass, "initialize", initialize, MRB_ARGS_ANY());
  mrb_define_method(mrb, klass, "initialize_copy", initialize_copy, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "fixed_anchor?", has_fixed_anchor, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "string", string_of, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "string=", set_string, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "__scan", scan, MRB_ARGS_REQ(4));
  mrb_define_method(mrb, klass, "__matched", take, MRB_ARGS_REQ(2));
  mrb_define_method(mrb, klass, "__unmatched", forget, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "unscan", unscan, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "pos", position, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "pos=", set_position, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "eos?", is_at_end, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "matched", matched, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "[]", aref, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "pre_match", pre_match, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "post_match", post_match, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__groups", groups, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__pattern", pattern_of, MRB_ARGS_NONE());
}
