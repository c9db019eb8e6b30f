/* MatchData: a text, a pattern, and the byte positions where the match and its groups begin and end (see fg_match_new).
 * */
#include "fg.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/range.h>
#include <mruby/string.h>

/* The values of a MatchData; a TypeError for one that `allocate` has left empty. */
static mrb_value *values_of(mrb_state *mrb, mrb_value match)
{
  if (mrb_type(match) != MRB_TT_STRUCT || RARRAY_LEN(match) < FG_MATCH_SLOTS + 2) {
    mrb_raise(mrb, E_TYPE_ERROR, "uninitialized MatchData");
  }
  return RARRAY_PTR(match);
}

size_t fg_match_size(mrb_value match)
{
  return ((size_t)RARRAY_LEN(match) - FG_MATCH_SLOTS) / 2;
}

static mrb_value part(mrb_state *mrb, mrb_value match, mrb_int from, mrb_int to)
{
  mrb_value text = values_of(mrb, match)[FG_MATCH_TEXT];
  return fg_bytes_part(mrb, text, from, to - from);
}

/* The text of a group; nil where the group has not matched or does not exist. */
mrb_value fg_match_group(mrb_state *mrb, mrb_value match, size_t group)
{
  const mrb_value *values = values_of(mrb, match);
  if (group >= fg_match_size(match)) return mrb_nil_value();
  mrb_value from = values[FG_MATCH_SLOTS + 2 * group], to = values[FG_MATCH_SLOTS + 2 * group + 1];
  if (mrb_nil_p(from) || mrb_nil_p(to)) return mrb_nil_value();
  return part(mrb, match, mrb_integer(from), mrb_integer(to));
}

mrb_value fg_match_pre(mrb_state *mrb, mrb_value match)
{
  return part(mrb, match, 0, mrb_integer(values_of(mrb, match)[FG_MATCH_SLOTS]));
}

mrb_value fg_match_post(mrb_state *mrb, mrb_value match)
{
  const mrb_value *values = values_of(mrb, match);
  return part(mrb, match, mrb_integer(values[FG_MATCH_SLOTS + 1]), RSTRING_LEN(values[FG_MATCH_TEXT]));
}

/* The number of the group with a name; of several, the last that has matched. IndexError where there is none. */
size_t fg_match_named(mrb_state *mrb, mrb_value match, const char *name, size_t length)
{
  const mrb_value *values = values_of(mrb, match);
  size_t found = 0;
  if (fg_is_regexp(mrb, values[FG_MATCH_PATTERN])) {
    const fg_pattern *pattern = fg_regexp_pattern(mrb, values[FG_MATCH_PATTERN]);
    uint32_t group;
    for (size_t i = 0; (group = fg_pattern_group(pattern, name, length, i)) != 0; i++) {
      if (found == 0 || !mrb_nil_p(values[FG_MATCH_SLOTS + 2 * group])) found = group;
    }
  }
  if (found == 0) {
    mrb_raisef(mrb, E_INDEX_ERROR, "undefined group name reference: %v", mrb_str_new(mrb, name, (mrb_int)length));
  }
  return found;
}

/* The number of a group given by number or name; -1 where there is no group of that number. */
static mrb_int number_of(mrb_state *mrb, mrb_value match, mrb_value which)
{
  if (mrb_symbol_p(which)) which = mrb_sym_str(mrb, mrb_symbol(which));
  if (mrb_string_p(which)) {
    return (mrb_int)fg_match_named(mrb, match, RSTRING_PTR(which), (size_t)RSTRING_LEN(which));
  }
  mrb_int number = mrb_as_int(mrb, which), size = (mrb_int)fg_match_size(match);
  /* Counted from the end there are only the groups, not the match itself. */
  if (number < 0 && (number += size) == 0) return -1;
  return number < 0 || number >= size ? -1 : number;
}

static mrb_value all_from(mrb_state *mrb, mrb_value match, size_t first)
{
  size_t size = fg_match_size(match);
  mrb_value all = mrb_ary_new_capa(mrb, (mrb_int)(size - first));
  for (size_t i = first; i < size; i++) {
    int arena = mrb_gc_arena_save(mrb);
    mrb_ary_push(mrb, all, fg_match_group(mrb, match, i));
    mrb_gc_arena_restore(mrb, arena);
  }
  return all;
}

static mrb_value to_a(mrb_state *mrb, mrb_value self)
{
  values_of(mrb, self);
  return all_from(mrb, self, 0);
}

static mrb_value captures(mrb_state *mrb, mrb_value self)
{
  values_of(mrb, self);
  return all_from(mrb, self, 1);
}

/* match[1], match[:name], match[1, 2], match[1..] */
static mrb_value aref(mrb_state *mrb, mrb_value self)
{
  mrb_value which, length = mrb_undef_value();
  mrb_get_args(mrb, "o|o", &which, &length);
  values_of(mrb, self);
  if (!mrb_undef_p(length)) return mrb_funcall(mrb, to_a(mrb, self), "[]", 2, which, length);
  if (mrb_range_p(which)) return mrb_funcall(mrb, to_a(mrb, self), "[]", 1, which);
  mrb_int number = number_of(mrb, self, which);
  return number < 0 ? mrb_nil_value() : fg_match_group(mrb, self, (size_t)number);
}

/* The byte position of a group's begin (`end` 0) or end (`end` 1), or nil. IndexError where there is no such group. */
static mrb_value slot(mrb_state *mrb, mrb_value self, mrb_value which, int end)
{
  mrb_int number = number_of(mrb, self, which);
  if (number < 0 || (mrb_integer_p(which) && mrb_integer(which) < 0)) {
    mrb_raisef(mrb, E_INDEX_ERROR, "index %v out of matches", which);
  }
  return values_of(mrb, self)[FG_MATCH_SLOTS + 2 * number + end];
}

/* Ruby counts positions in characters. They are converted when asked for: most programs never do, and it takes linear
 * time. */
static mrb_value in_characters(mrb_state *mrb, mrb_value self, mrb_value at)
{
  if (mrb_nil_p(at)) return at;
  return mrb_fixnum_value((mrb_int)fg_bytes_count(values_of(mrb, self)[FG_MATCH_TEXT], (size_t)mrb_integer(at)));
}

static mrb_value which_of(mrb_state *mrb)
{
  mrb_value which;
  mrb_get_args(mrb, "o", &which);
  return which;
}

static mrb_value begin(mrb_state *mrb, mrb_value self)
{
  return in_characters(mrb, self, slot(mrb, self, which_of(mrb), 0));
}

static mrb_value end(mrb_state *mrb, mrb_value self)
{
  return in_characters(mrb, self, slot(mrb, self, which_of(mrb), 1));
}

static mrb_value offset(mrb_state *mrb, mrb_value self)
{
  mrb_value which = which_of(mrb);
  mrb_value from = slot(mrb, self, which, 0), to = slot(mrb, self, which, 1);
  return mrb_assoc_new(mrb, in_characters(mrb, self, from), in_characters(mrb, self, to));
}

/* The positions in bytes of the begin and the end of a group. */
mrb_value fg_match_bytes(mrb_state *mrb, mrb_value self, mrb_value which)
{
  return mrb_assoc_new(mrb, slot(mrb, self, which, 0), slot(mrb, self, which, 1));
}

static mrb_value byte_offset(mrb_state *mrb, mrb_value self)
{
  return fg_match_bytes(mrb, self, which_of(mrb));
}

static mrb_value first_byte(mrb_state *mrb, mrb_value self) { return values_of(mrb, self)[FG_MATCH_SLOTS]; }

static mrb_value last_byte(mrb_state *mrb, mrb_value self) { return values_of(mrb, self)[FG_MATCH_SLOTS + 1]; }

/* MatchData#__after: the byte where the search for the next match begins (see fg_after). */
static mrb_value after(mrb_state *mrb, mrb_value self)
{
  const mrb_value *values = values_of(mrb, self);
  size_t from = (size_t)mrb_integer(values[FG_MATCH_SLOTS]), to = (size_t)mrb_integer(values[FG_MATCH_SLOTS + 1]);
  size_t length = (size_t)RSTRING_LEN(values[FG_MATCH_TEXT]);
  if (from != to) return mrb_fixnum_value((mrb_int)to);
  size_t step = to < length ? fg_bytes_offset(values[FG_MATCH_TEXT], to, 1) : 1;
  return mrb_fixnum_value((mrb_int)(to + (step == FG_UNSET ? 1 : step)));
}

static mrb_value whole(mrb_state *mrb, mrb_value self) { return fg_match_group(mrb, self, 0); }

static mrb_value text(mrb_state *mrb, mrb_value self) { return values_of(mrb, self)[FG_MATCH_TEXT]; }

static mrb_value size(mrb_state *mrb, mrb_value self)
{
  values_of(mrb, self);
  return mrb_fixnum_value((mrb_int)fg_match_size(self));
}

/* MatchData#regexp: a match by a String has none, so that one is made of it. */
static mrb_value regexp(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern = values_of(mrb, self)[FG_MATCH_PATTERN];
  if (fg_is_regexp(mrb, pattern)) return pattern;
  mrb_value quoted = fg_regexp_quote(mrb, RSTRING_PTR(pattern), (size_t)RSTRING_LEN(pattern));
  return fg_regexp_new(mrb, RSTRING_PTR(quoted), (size_t)RSTRING_LEN(quoted), 0);
}

static mrb_value equal(mrb_state *mrb, mrb_value self)
{
  mrb_value other;
  mrb_get_args(mrb, "o", &other);
  if (mrb_type(other) != MRB_TT_STRUCT || mrb_obj_class(mrb, other) != mrb_obj_class(mrb, self)) {
    return mrb_false_value();
  }
  const mrb_value *one = values_of(mrb, self), *two = values_of(mrb, other);
  if (RARRAY_LEN(self) != RARRAY_LEN(other)) return mrb_false_value();
  for (mrb_int i = 0; i < RARRAY_LEN(self); i++) if (!mrb_equal(mrb, one[i], two[i])) return mrb_false_value();
  return mrb_true_value();
}

void fg_match_init(mrb_state *mrb, fg_vm *vm)
{
  struct RClass *klass = vm->match_class = mrb_define_class(mrb, "MatchData", mrb->object_class);
  MRB_SET_INSTANCE_TT(klass, MRB_TT_STRUCT);
  mrb_undef_class_method(mrb, klass, "new");
  mrb_undef_class_method(mrb, klass, "allocate");
  mrb_define_method(mrb, klass, "[]", aref, MRB_ARGS_ARG(1, 1));
  mrb_define_method(mrb, klass, "to_a", to_a, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "captures", captures, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "deconstruct", captures, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "begin", begin, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "end", end, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "offset", offset, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "byteoffset", byte_offset, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "pre_match", fg_match_pre, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "post_match", fg_match_post, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "to_s", whole, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "string", text, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "regexp", regexp, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "size", size, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "length", size, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "==", equal, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "eql?", equal, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "__from", first_byte, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__after", after, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__to", last_byte, MRB_ARGS_NONE());
}
