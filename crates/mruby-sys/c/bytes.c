/* Strings of bytes (ASCII-8BIT), whose characters are their bytes (mruby/patches, binary-strings), and the characters
 * of UTF-8 Strings. */
#include "fg.h"

#include <stdio.h>
#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/hash.h>
#include <mruby/string.h>

mrb_int mrb_utf8len(const char *, const char *);

/* Whether a text is ASCII, checked eight bytes at a time: each header value of each request comes here. */
bool fg_is_ascii_text(const char *text, size_t length)
{
  uint64_t all = 0, word = 0;
  size_t at = 0;
  for (; length - at >= sizeof word; at += sizeof word) {
    memcpy(&word, text + at, sizeof word);
    all |= word;
  }
  word = 0;
  memcpy(&word, text + at, length - at);
  return ((all | word) & 0x8080808080808080u) == 0;
}

void fg_bytes_mark(mrb_value text, bool binary)
{
#ifdef FG_STR_BINARY
  struct RString *string = mrb_str_ptr(text);
  /* mruby caches that a String has only single-byte characters. That may have been true of bytes and not of UTF-8. */
  string->flags &= ~(MRB_STR_ASCII | FG_STR_BINARY);
  if (binary) string->flags |= FG_STR_BINARY;
#else
  (void)text, (void)binary;
#endif
}

bool fg_bytes_marked(mrb_value text)
{
#ifdef FG_STR_BINARY
  return (mrb_str_ptr(text)->flags & FG_STR_BINARY) != 0;
#else
  (void)text;
  return false;
#endif
}

/* A part of a String in memory of its own: parts often outlive the text, which a shared part would keep alive. */
mrb_value fg_bytes_part(mrb_state *mrb, mrb_value text, mrb_int from, mrb_int length)
{
  mrb_value part = mrb_str_new(mrb, RSTRING_PTR(text) + from, (size_t)length);
  if (fg_bytes_marked(text)) fg_bytes_mark(part, true);
  return part;
}

/* Number of characters in the first `length` bytes of a text. */
size_t fg_bytes_count(mrb_value text, size_t length)
{
  return fg_bytes_marked(text) ? length : fg_text_count(RSTRING_PTR(text), length);
}

/* Bytes from byte `from` to the begin of the character that is `characters` further on; FG_UNSET beyond the end. */
size_t fg_bytes_offset(mrb_value text, size_t from, size_t characters)
{
  size_t length = (size_t)RSTRING_LEN(text) - from;
  if (fg_bytes_marked(text)) return characters > length ? FG_UNSET : characters;
  return fg_text_offset(RSTRING_PTR(text) + from, length, characters);
}

static mrb_value is_marked(mrb_state *mrb, mrb_value self)
{
  (void)mrb;
  return mrb_bool_value(fg_bytes_marked(self));
}

/* String#__binary!(yes): marks a String as bytes or UTF-8 and returns it. FrozenError only where the mark changes. */
static mrb_value mark(mrb_state *mrb, mrb_value self)
{
  mrb_bool binary;
  mrb_get_args(mrb, "b", &binary);
  if (binary == fg_bytes_marked(self)) return self;
  mrb_check_frozen(mrb, mrb_str_ptr(self));
  fg_bytes_mark(self, binary);
  return self;
}

static mrb_value characters(mrb_state *mrb, mrb_value self)
{
  mrb_value found = mrb_ary_new(mrb);
  bool binary = fg_bytes_marked(self);
  int arena = mrb_gc_arena_save(mrb);
  for (mrb_int at = 0; at < RSTRING_LEN(self);) {
    const char *start = RSTRING_PTR(self) + at;
    mrb_int length = binary ? 1 : mrb_utf8len(start, RSTRING_END(self));
    mrb_value one = mrb_str_new(mrb, start, (size_t)length);
    if (binary) fg_bytes_mark(one, true);
    mrb_ary_push(mrb, found, one);
    mrb_gc_arena_restore(mrb, arena);
    at += length;
  }
  return found;
}

/* String#clear: the mark as bytes stays. */
static mrb_value clear(mrb_state *mrb, mrb_value self)
{
  bool binary = fg_bytes_marked(self);
  mrb_str_modify(mrb, mrb_str_ptr(self));
  mrb_str_resize(mrb, self, 0);
  fg_bytes_mark(self, binary);
  return self;
}

/* mruby's own String#<<, which takes an Integer for a character of Unicode, and a Float for an Integer. */
static mrb_func_t plain_append;

/* Whether an Integer is appended as a byte. A RangeError for one that stands for no byte or character. */
static bool is_byte(mrb_state *mrb, mrb_value self, mrb_int code)
{
  bool binary = fg_bytes_marked(self);
  if (binary && (code < 0 || code > 0xff)) mrb_raisef(mrb, E_RANGE_ERROR, "%i out of char range", code);
  if (!binary && code >= 0xd800 && code < 0xe000) {
    char words[40];
    snprintf(words, sizeof words, "invalid codepoint 0x%X in UTF-8", (unsigned)code);
    mrb_raise(mrb, E_RANGE_ERROR, words);
  }
  return binary;
}

/* String#<<: to a String of bytes an Integer is a byte. */
static mrb_value append(mrb_state *mrb, mrb_value self)
{
  mrb_int count = mrb_get_argc(mrb);
  if (count != 1) mrb_argnum_error(mrb, count, 1, 1);
  mrb_value one = mrb_get_argv(mrb)[0];
  if (mrb_float_p(one)) mrb_raise(mrb, E_TYPE_ERROR, "no implicit conversion of Float into String");
  if (!mrb_integer_p(one) || !is_byte(mrb, self, mrb_integer(one))) return plain_append(mrb, self);
  char byte = (char)mrb_integer(one);
  return mrb_str_cat(mrb, self, &byte, 1);
}

/* String#concat: appends any number of arguments. The String itself among them counts as it was before. */
static mrb_value concat(mrb_state *mrb, mrb_value self)
{
  mrb_int count = mrb_get_argc(mrb);
  if (count == 1) return append(mrb, self);
  mrb_check_frozen(mrb, mrb_str_ptr(self));
  mrb_value before = mrb_str_dup(mrb, self);
  for (mrb_int i = 0; i < count; i++) {
    /* Read anew each time: the arguments are on Ruby's stack, which may move. */
    mrb_value one = mrb_get_argv(mrb)[i];
    mrb_funcall(mrb, self, "<<", 1, mrb_obj_eq(mrb, one, self) ? before : one);
  }
  return self;
}

/* String#__char_size(at): bytes of the character at byte `at`; 0 outside of the text. */
static mrb_value character_size(mrb_state *mrb, mrb_value self)
{
  mrb_int at;
  mrb_get_args(mrb, "i", &at);
  if (at < 0 || at >= RSTRING_LEN(self)) return mrb_fixnum_value(0);
  bool binary = fg_bytes_marked(self);
  return mrb_fixnum_value(binary ? 1 : mrb_utf8len(RSTRING_PTR(self) + at, RSTRING_END(self)));
}

/* String.new(text = "", encoding: nil, capacity: nil) */
static mrb_value initialize(mrb_state *mrb, mrb_value self)
{
  const mrb_value *args;
  mrb_int count;
  mrb_get_args(mrb, "*", &args, &count);
  mrb_value options = count > 0 && mrb_hash_p(args[count - 1]) ? args[--count] : mrb_nil_value();
  if (count > 1) mrb_argnum_error(mrb, count, 0, 1);
  if (count == 1) mrb_funcall(mrb, self, "replace", 1, args[0]);
  if (mrb_nil_p(options)) return self;
  mrb_value encoding = mrb_hash_get(mrb, options, mrb_symbol_value(mrb_intern_lit(mrb, "encoding")));
  if (!mrb_nil_p(encoding)) mrb_funcall(mrb, self, "force_encoding", 1, encoding);
  return self;
}

void fg_bytes_init(mrb_state *mrb)
{
  struct RClass *string = mrb->string_class;
  mrb_define_method(mrb, string, "__binary?", is_marked, MRB_ARGS_NONE());
  mrb_define_method(mrb, string, "__binary!", mark, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, string, "initialize", initialize, MRB_ARGS_ANY());
  mrb_define_method(mrb, string, "clear", clear, MRB_ARGS_NONE());
  plain_append = fg_own_function(mrb, string, mrb_intern_lit(mrb, "<<"));
  mrb_define_method(mrb, string, "<<", append, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, string, "concat", concat, MRB_ARGS_ANY());
  mrb_define_method(mrb, string, "__char_size", character_size, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, string, "__chars", characters, MRB_ARGS_NONE());
}
