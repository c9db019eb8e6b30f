/* Methods of Regexp and String that search once. Methods that call a block for each match are in Ruby
 * (ruby/substitute.rb), so that the block can do everything that a block can. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/proc.h>
#include <mruby/string.h>

/* mruby's own methods, for calls without a Regexp. They are the same functions in every interpreter, so that static
 * variables can hold them. */
static mrb_func_t plain_aref, plain_aset, plain_index, plain_byteindex, plain_split, plain_start;

/* The text that is searched: a String, Symbol or object with to_str. Nil stays nil; TypeError for others. */
static mrb_value subject_of(mrb_state *mrb, mrb_value value)
{
  if (mrb_symbol_p(value)) return mrb_sym_str(mrb, mrb_symbol(value));
  return mrb_string_p(value) || mrb_nil_p(value) ? value : mrb_ensure_string_type(mrb, fg_plain(mrb, value));
}

/* Searches and sets the last match; returns the match or nil. */
static mrb_value search(mrb_state *mrb, fg_finder *finder, size_t start, int above)
{
  mrb_value match = mrb_nil_value();
  if (start != FG_UNSET && fg_find(mrb, finder, start, false)) match = fg_match_new(mrb, finder);
  fg_match_set(mrb, match, above);
  return match;
}

/* The byte of a position in characters, which counts from the end when negative; FG_UNSET outside of the text. */
static size_t byte_of(mrb_value text, mrb_int position)
{
  if (position < 0) position += (mrb_int)fg_bytes_count(text, (size_t)RSTRING_LEN(text));
  return position < 0 ? FG_UNSET : fg_bytes_offset(text, 0, (size_t)position);
}

static mrb_value character_of(mrb_state *mrb, fg_finder *finder)
{
  (void)mrb;
  return mrb_fixnum_value((mrb_int)fg_bytes_count(finder->text, finder->slots[0]));
}

/* --- Regexp ----------------------------------------------------------------------------------------------------- */

static mrb_value match(mrb_state *mrb, mrb_value regexp, mrb_value text, mrb_int position, mrb_value block)
{
  text = subject_of(mrb, text);
  if (mrb_nil_p(text)) {
    fg_match_set(mrb, text, 0);
    return text;
  }
  fg_finder finder;
  fg_finder_init(mrb, &finder, regexp, text);
  mrb_value found = search(mrb, &finder, byte_of(text, position), 0);
  return mrb_nil_p(found) || mrb_nil_p(block) ? found : mrb_yield(mrb, block, found);
}

static mrb_value regexp_match(mrb_state *mrb, mrb_value self)
{
  mrb_value text, block;
  mrb_int position = 0;
  mrb_get_args(mrb, "o|i&", &text, &position, &block);
  return match(mrb, self, text, position, block);
}

static mrb_value is_match(mrb_state *mrb, mrb_value regexp, mrb_value text, mrb_int position)
{
  text = subject_of(mrb, text);
  if (mrb_nil_p(text)) return mrb_false_value();
  fg_finder finder;
  fg_finder_init(mrb, &finder, regexp, text);
  size_t start = byte_of(text, position);
  /* Without slots the automaton need not find the positions. */
  if (finder.native) finder.room = 0;
  return mrb_bool_value(start != FG_UNSET && fg_find(mrb, &finder, start, false));
}

static mrb_value regexp_is_match(mrb_state *mrb, mrb_value self)
{
  mrb_value text;
  mrb_int position = 0;
  mrb_get_args(mrb, "o|i", &text, &position);
  return is_match(mrb, self, text, position);
}

static mrb_value where(mrb_state *mrb, mrb_value regexp, mrb_value text)
{
  fg_finder finder;
  fg_finder_init(mrb, &finder, regexp, text);
  return mrb_nil_p(search(mrb, &finder, 0, 0)) ? mrb_nil_value() : character_of(mrb, &finder);
}

static mrb_value regexp_where(mrb_state *mrb, mrb_value self)
{
  mrb_value text;
  mrb_get_args(mrb, "o", &text);
  text = subject_of(mrb, text);
  if (!mrb_nil_p(text)) return where(mrb, self, text);
  fg_match_set(mrb, text, 0);
  return text;
}

static mrb_value regexp_case(mrb_state *mrb, mrb_value self)
{
  mrb_value text;
  mrb_get_args(mrb, "o", &text);
  /* `case` may pass any object: others do not match, and raise nothing. */
  text = mrb_symbol_p(text) ? mrb_sym_str(mrb, mrb_symbol(text)) : mrb_check_string_type(mrb, text);
  if (mrb_nil_p(text)) {
    fg_match_set(mrb, text, 0);
    return mrb_false_value();
  }
  fg_finder finder;
  fg_finder_init(mrb, &finder, self, text);
  return mrb_bool_value(!mrb_nil_p(search(mrb, &finder, 0, 0)));
}

/* --- String: one match ------------------------------------------------------------------------------------------ */

static mrb_value pattern_of(mrb_state *mrb, mrb_value pattern)
{
  if (fg_is_regexp(mrb, pattern)) return pattern;
  if (!mrb_string_p(pattern)) fg_no_pattern(mrb, pattern);
  return fg_regexp_new(mrb, RSTRING_PTR(pattern), (size_t)RSTRING_LEN(pattern), 0);
}

static mrb_value string_where(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern;
  mrb_get_args(mrb, "o", &pattern);
  if (fg_is_regexp(mrb, pattern)) return where(mrb, pattern, self);
  if (mrb_string_p(pattern)) mrb_raise(mrb, E_TYPE_ERROR, "type mismatch: String given");
  return mrb_funcall(mrb, pattern, "=~", 1, self);
}

static mrb_value string_match(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern, block;
  mrb_int position = 0;
  mrb_get_args(mrb, "o|i&", &pattern, &position, &block);
  return match(mrb, pattern_of(mrb, pattern), self, position, block);
}

static mrb_value string_is_match(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern;
  mrb_int position = 0;
  mrb_get_args(mrb, "o|i", &pattern, &position);
  return is_match(mrb, pattern_of(mrb, pattern), self, position);
}

/* Whether the first argument is a Regexp. Without reading the arguments by mrb_get_args, since mruby's own method does
 * that. */
static bool has_pattern(mrb_state *mrb)
{
  return mrb_get_argc(mrb) > 0 && fg_is_regexp(mrb, mrb_get_argv(mrb)[0]);
}

/* text[/pattern/], text[/pattern/, 1], text[/pattern/, :name] */
static mrb_value string_aref(mrb_state *mrb, mrb_value self)
{
  if (!has_pattern(mrb)) return plain_aref(mrb, self);
  mrb_value pattern, group = mrb_fixnum_value(0);
  mrb_get_args(mrb, "o|o", &pattern, &group);
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, self);
  mrb_value found = search(mrb, &finder, 0, 0);
  if (mrb_nil_p(found)) return found;
  if (mrb_integer_p(group) && mrb_integer(group) == 0) return fg_match_group(mrb, found, 0);
  return mrb_funcall(mrb, found, "[]", 1, group);
}

/* text[/pattern/] = other; text[/pattern/, group] = other */
static mrb_value string_aset(mrb_state *mrb, mrb_value self)
{
  if (!has_pattern(mrb)) return plain_aset(mrb, self);
  mrb_value pattern, group = mrb_fixnum_value(0), other;
  if (mrb_get_argc(mrb) == 2) mrb_get_args(mrb, "oo", &pattern, &other);
  else mrb_get_args(mrb, "ooo", &pattern, &group, &other);
  mrb_ensure_string_type(mrb, other);
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, self);
  mrb_value found = search(mrb, &finder, 0, 0);
  if (mrb_nil_p(found)) mrb_raise(mrb, E_INDEX_ERROR, "regexp not matched");
  mrb_value offsets = fg_match_bytes(mrb, found, group);
  if (mrb_nil_p(RARRAY_PTR(offsets)[0])) mrb_raisef(mrb, E_INDEX_ERROR, "regexp group %v not matched", group);
  mrb_int from = mrb_integer(RARRAY_PTR(offsets)[0]), to = mrb_integer(RARRAY_PTR(offsets)[1]);
  mrb_funcall(mrb, self, "bytesplice", 3, mrb_fixnum_value(from), mrb_fixnum_value(to - from), other);
  return other;
}

/* The byte where a search begins, for a position in bytes or characters, which counts from the end when negative. It is
 * greater than the length for a position outside of the text; but behind the end a search for the last match begins at
 * the end. */
static size_t start_of(mrb_value text, mrb_int position, bool bytes, bool last)
{
  size_t length = (size_t)RSTRING_LEN(text), start;
  if (bytes) start = (size_t)(position < 0 ? position + (mrb_int)length : position);
  else start = byte_of(text, position);
  return last && position >= 0 && start > length ? length : start;
}

static mrb_value find_index(mrb_state *mrb, mrb_value self, bool bytes, bool last)
{
  mrb_value pattern;
  mrb_int position = 0;
  mrb_bool given = FALSE;
  mrb_get_args(mrb, "o|i?", &pattern, &position, &given);
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, self);
  size_t length = (size_t)RSTRING_LEN(self);
  size_t start = last && !given ? length : start_of(self, position, bytes, last);
  bool found = start <= length && (last ? fg_find_last(mrb, &finder, start) : fg_find(mrb, &finder, start, false));
  fg_match_set(mrb, found ? fg_match_new(mrb, &finder) : mrb_nil_value(), 0);
  if (!found) return mrb_nil_value();
  return bytes ? mrb_fixnum_value((mrb_int)finder.slots[0]) : character_of(mrb, &finder);
}

static mrb_value string_index(mrb_state *mrb, mrb_value self)
{
  return has_pattern(mrb) ? find_index(mrb, self, false, false) : plain_index(mrb, self);
}

/* The byte of the last place in a text, not behind byte `start`, where another text is; FG_UNSET where there is none.
 * In UTF-8 that is the begin of a character. */
static size_t last_place(mrb_value text, mrb_value part, size_t start)
{
  const char *bytes = RSTRING_PTR(text);
  size_t length = (size_t)RSTRING_LEN(text), size = (size_t)RSTRING_LEN(part);
  if (size > length) return FG_UNSET;
  if (start > length - size) start = length - size;
  bool everywhere = size == 0 || fg_bytes_marked(text);
  for (size_t at = start + 1; at-- > 0;) {
    if (memcmp(bytes + at, RSTRING_PTR(part), size) != 0) continue;
    if (everywhere || ((unsigned char)bytes[at] & 0xc0) != 0x80) return at;
  }
  return FG_UNSET;
}

/* String#rindex and byterindex of a String. mruby's own search a String of bytes by characters of UTF-8, and with a
 * negative position not at the first character. */
static mrb_value last_index(mrb_state *mrb, mrb_value self, bool bytes)
{
  mrb_value part;
  mrb_int position;
  bool given = mrb_get_args(mrb, "S|i", &part, &position) == 2;
  size_t length = (size_t)RSTRING_LEN(self);
  size_t start = given ? start_of(self, position, bytes, true) : length;
  size_t found = start <= length ? last_place(self, part, start) : FG_UNSET;
  if (found == FG_UNSET) return mrb_nil_value();
  return mrb_fixnum_value((mrb_int)(bytes ? found : fg_bytes_count(self, found)));
}

static mrb_value string_rindex(mrb_state *mrb, mrb_value self)
{
  return has_pattern(mrb) ? find_index(mrb, self, false, true) : last_index(mrb, self, false);
}

static mrb_value string_byteindex(mrb_state *mrb, mrb_value self)
{
  return has_pattern(mrb) ? find_index(mrb, self, true, false) : plain_byteindex(mrb, self);
}

static mrb_value string_byterindex(mrb_state *mrb, mrb_value self)
{
  return has_pattern(mrb) ? find_index(mrb, self, true, true) : last_index(mrb, self, true);
}

/* String#start_with?. With a Regexp among the arguments all of them are tested here, else by mruby's own method. */
static mrb_value string_starts(mrb_state *mrb, mrb_value self)
{
  /* The number first: it puts keywords into the list of arguments. */
  mrb_int count = mrb_get_argc(mrb);
  const mrb_value *args = mrb_get_argv(mrb);
  for (mrb_int i = 0; i < count; i++) {
    if (!fg_is_regexp(mrb, args[i])) continue;
    mrb_get_args(mrb, "*", &args, &count);
    for (i = 0; i < count; i++) {
      fg_finder finder;
      fg_finder_init(mrb, &finder, args[i], self);
      bool found = fg_find(mrb, &finder, 0, true);
      if (finder.native) fg_match_set(mrb, found ? fg_match_new(mrb, &finder) : mrb_nil_value(), 0);
      if (found) return mrb_true_value();
    }
    return mrb_false_value();
  }
  return plain_start(mrb, self);
}

static mrb_value string_split(mrb_state *mrb, mrb_value self)
{
  if (!has_pattern(mrb)) {
    mrb_value parts = plain_split(mrb, self);
    /* With a limit of 1 the only part is the very String, which the caller may change. */
    bool whole = RARRAY_LEN(parts) == 1 && mrb_obj_eq(mrb, RARRAY_PTR(parts)[0], self);
    if (whole) mrb_ary_set(mrb, parts, 0, mrb_str_dup(mrb, self));
    return parts;
  }
  mrb_value pattern;
  mrb_int limit = 0;
  mrb_get_args(mrb, "o|i", &pattern, &limit);
  return fg_split(mrb, self, pattern, limit);
}

/* Replaces a method of String by ours and returns the C function behind mruby's own. */
static mrb_func_t take_over(mrb_state *mrb, const char *name, mrb_func_t ours, mrb_aspec aspec)
{
  mrb_func_t plain = fg_own_function(mrb, mrb->string_class, mrb_intern_cstr(mrb, name));
  mrb_define_method(mrb, mrb->string_class, name, ours, aspec);
  return plain;
}

void fg_subject_init(mrb_state *mrb, fg_vm *vm)
{
  struct RClass *regexp = vm->regexp_class, *string = mrb->string_class;
  mrb_define_method(mrb, regexp, "match", regexp_match, MRB_ARGS_ARG(1, 1) | MRB_ARGS_BLOCK());
  mrb_define_method(mrb, regexp, "match?", regexp_is_match, MRB_ARGS_ARG(1, 1));
  mrb_define_method(mrb, regexp, "=~", regexp_where, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, regexp, "===", regexp_case, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, string, "match", string_match, MRB_ARGS_ARG(1, 1) | MRB_ARGS_BLOCK());
  mrb_define_method(mrb, string, "match?", string_is_match, MRB_ARGS_ARG(1, 1));
  mrb_define_method(mrb, string, "=~", string_where, MRB_ARGS_REQ(1));
  plain_aref = take_over(mrb, "[]", string_aref, MRB_ARGS_ARG(1, 1));
  plain_aset = take_over(mrb, "[]=", string_aset, MRB_ARGS_ANY());
  mrb_define_method(mrb, string, "slice", string_aref, MRB_ARGS_ARG(1, 1));
  plain_index = take_over(mrb, "index", string_index, MRB_ARGS_ARG(1, 1));
  mrb_define_method(mrb, string, "rindex", string_rindex, MRB_ARGS_ARG(1, 1));
  plain_byteindex = take_over(mrb, "byteindex", string_byteindex, MRB_ARGS_ARG(1, 1));
  mrb_define_method(mrb, string, "byterindex", string_byterindex, MRB_ARGS_ARG(1, 1));
  plain_split = take_over(mrb, "split", string_split, MRB_ARGS_OPT(2));
  plain_start = take_over(mrb, "start_with?", string_starts, MRB_ARGS_ANY());
  fg_replace_init(mrb);
}
