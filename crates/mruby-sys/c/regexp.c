/* Regexp: objects that hold a pattern of Rust. Literals and Regexp.new return the same frozen object for the same
 * source and options as long as it is in the interpreter's table, so that a literal in a loop compiles once. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/string.h>
#include <mruby/variable.h>

#define IGNORECASE 1u
#define EXTENDED 2u
#define MULTILINE 4u
#define NOENCODING 32u
/* Number of entries in the table. Index 0 before them is for the last match, where frames have no place for it. */
#define REMEMBERED 1024

/* Finalizer. The size never changes (ruby-regexp), so that this releases what `make` has reserved. */
static void regexp_free(mrb_state *mrb, void *pattern)
{
  if (pattern == NULL) return;
  fg_release(mrb, fg_pattern_bytes(pattern));
  fg_pattern_free(pattern);
}

static const mrb_data_type regexp_type = {"Regexp", regexp_free};

bool fg_is_regexp(mrb_state *mrb, mrb_value value)
{
  (void)mrb;
  return mrb_data_p(value) && DATA_TYPE(value) == &regexp_type;
}

const fg_pattern *fg_regexp_pattern(mrb_state *mrb, mrb_value regexp)
{
  const fg_pattern *pattern = fg_is_regexp(mrb, regexp) ? DATA_PTR(regexp) : NULL;
  if (pattern == NULL) mrb_raise(mrb, E_TYPE_ERROR, "uninitialized Regexp");
  return pattern;
}

static mrb_value source_of(mrb_state *mrb, mrb_value self)
{
  size_t length;
  const char *source = fg_pattern_source(fg_regexp_pattern(mrb, self), &length);
  return mrb_str_new(mrb, source, (mrb_int)length);
}

static void put_flags(mrb_state *mrb, mrb_value out, uint32_t options)
{
  if (options & MULTILINE) mrb_str_cat_lit(mrb, out, "m");
  if (options & IGNORECASE) mrb_str_cat_lit(mrb, out, "i");
  if (options & EXTENDED) mrb_str_cat_lit(mrb, out, "x");
}

/* Appends a source as it is written between slashes. */
static void put_source(mrb_state *mrb, mrb_value out, const char *source, size_t length)
{
  for (size_t i = 0; i < length; i++) {
    if (source[i] == '\\' && i + 1 < length) mrb_str_cat(mrb, out, source + i++, 1);
    else if (source[i] == '/') mrb_str_cat_lit(mrb, out, "\\");
    mrb_str_cat(mrb, out, source + i, 1);
  }
}

static mrb_noreturn void refuse(mrb_state *mrb, const char *source, size_t length, const fg_value *error)
{
  mrb_value message = mrb_str_new(mrb, error->bytes, (mrb_int)error->length);
  mrb_str_cat_lit(mrb, message, ": /");
  put_source(mrb, message, source, length);
  mrb_str_cat_lit(mrb, message, "/");
  mrb_exc_raise(mrb, mrb_exc_new_str(mrb, mrb_class_get(mrb, "RegexpError"), message));
}

/* A new Regexp. The object is allocated first: an allocation after fg_pattern_new could raise and leak the pattern. */
static mrb_value make(mrb_state *mrb, struct RClass *klass, const char *source, size_t length, uint32_t options)
{
  struct RData *data = mrb_data_object_alloc(mrb, klass, NULL, &regexp_type);
  fg_value error = {0};
  const fg_pattern *pattern = fg_pattern_new(fg_of(mrb)->host, source, length, options, &error);
  if (pattern == NULL) refuse(mrb, source, length, &error);
  /* The pattern may be shared with other interpreters (ruby-regexp, cache.rs), and yet counts for each of them: else
   * one could hold patterns without end. */
  if (!fg_reserve(mrb, fg_pattern_bytes(pattern))) {
    fg_pattern_free(pattern);
    mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
  }
  data->data = (void *)pattern;
  return mrb_obj_value(data);
}

/* Index in the table: a hash of the source, eight bytes at a time. Collisions only replace an entry. */
static size_t place_of(const char *source, size_t length, uint32_t options)
{
  uint64_t hash = options + length * 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < length;) {
    uint64_t word = 0;
    size_t part = length - i < 8 ? length - i : 8;
    memcpy(&word, source + i, part);
    hash = (hash ^ word) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    i += part;
  }
  return 1 + hash % REMEMBERED;
}

/* Whether a pattern has this source and these options. */
static bool is_of(const fg_pattern *pattern, const char *source, size_t length, uint32_t options)
{
  size_t own_length;
  const char *own_source = fg_pattern_source(pattern, &own_length);
  return own_length == length && fg_pattern_options(pattern) == options && memcmp(own_source, source, length) == 0;
}

/* The Regexp of this source and these options, from the table or made now. */
mrb_value fg_regexp_new(mrb_state *mrb, const char *source, size_t length, uint32_t options)
{
  fg_vm *vm = fg_of(mrb);
  size_t place = place_of(source, length, options);
  mrb_value known = RARRAY_PTR(vm->regexps)[place];
  if (!mrb_nil_p(known) && is_of(DATA_PTR(known), source, length, options)) return known;
  mrb_value made = make(mrb, vm->regexp_class, source, length, options);
  mrb_basic_ptr(made)->flags |= MRB_FL_OBJ_IS_FROZEN;
  mrb_ary_set(mrb, vm->regexps, (mrb_int)place, made);
  return made;
}

/* The options of an argument: an Integer, the letters of a literal, or anything true for IGNORECASE, as in CRuby. */
static uint32_t options_of(mrb_state *mrb, mrb_value value)
{
  if (mrb_integer_p(value)) return (uint32_t)mrb_integer(value) & (IGNORECASE | EXTENDED | MULTILINE | NOENCODING);
  if (!mrb_string_p(value)) return mrb_test(value) ? IGNORECASE : 0;
  uint32_t options = 0;
  for (mrb_int i = 0; i < RSTRING_LEN(value); i++) {
    switch (RSTRING_PTR(value)[i]) {
    case 'i': options |= IGNORECASE; break;
    case 'x': options |= EXTENDED; break;
    case 'm': options |= MULTILINE; break;
    case 'n': options |= NOENCODING; break;
    case 'o': case 'u': break;
    /* Options of a literal. It is refused when it is evaluated, so that the rest of its file still runs. */
    case 'e': case 's':
      mrb_raisef(mrb, mrb_class_get(mrb, "RegexpError"),
                 "a pattern in %s (/%v). The embedded interpreter does not have it. See docs/writing-apps.md, or run "
                 "with --engine ruby.",
                 RSTRING_PTR(value)[i] == 'e' ? "EUC-JP" : "Windows-31J", value);
      break;
    default: mrb_raisef(mrb, E_ARGUMENT_ERROR, "unknown regexp option: %v", value);
    }
  }
  return options;
}

/* Nanoseconds of a timeout; 0 for none, and for more than 30 years, which would overflow. */
static int64_t nanoseconds(mrb_state *mrb, mrb_value seconds)
{
  if (mrb_nil_p(seconds)) return 0;
  double number = mrb_as_float(mrb, seconds);
  if (!(number > 0)) mrb_raisef(mrb, E_ARGUMENT_ERROR, "invalid timeout: %v", seconds);
  return number > 1e9 ? 0 : (int64_t)(number * 1e9);
}

static mrb_value text_of(mrb_state *mrb, mrb_value value)
{
  return mrb_ensure_string_type(mrb, fg_stands_for(mrb, value, MRB_TT_STRING, "to_str"));
}

/* Regexp.new(source, options = 0, timeout: nil), and the call of a literal: Regexp.compile(source, "imx", "n"). */
static mrb_value s_new(mrb_state *mrb, mrb_value klass)
{
  const mrb_value *args;
  mrb_int count;
  /* A copy: conversions run Ruby code, which moves the stack. */
  mrb_get_args(mrb, "*", &args, &count);
  mrb_value timeout = mrb_nil_value();
  if (count > 1 && mrb_hash_p(args[count - 1])) {
    mrb_value name = mrb_symbol_value(mrb_intern_lit(mrb, "timeout"));
    timeout = mrb_hash_fetch(mrb, args[--count], name, mrb_nil_value());
  }
  if (count < 1 || count > 3) mrb_argnum_error(mrb, count, 1, 3);
  uint32_t options = 0;
  for (mrb_int i = 1; i < count; i++) options |= options_of(mrb, args[i]);
  const char *source;
  size_t length;
  if (fg_is_regexp(mrb, args[0])) {
    const fg_pattern *pattern = fg_regexp_pattern(mrb, args[0]);
    source = fg_pattern_source(pattern, &length);
    options = fg_pattern_options(pattern);
  }
  else {
    mrb_value text = text_of(mrb, args[0]);
    source = RSTRING_PTR(text);
    length = (size_t)RSTRING_LEN(text);
  }
  /* Only plain Regexps are shared: one of a subclass or with a timeout has a state of its own. */
  struct RClass *made = mrb_class_ptr(klass);
  if (made == fg_of(mrb)->regexp_class && mrb_nil_p(timeout)) return fg_regexp_new(mrb, source, length, options);
  mrb_value regexp = make(mrb, made, source, length, options);
  int64_t own = nanoseconds(mrb, timeout);
  if (own > 0) mrb_iv_set(mrb, regexp, mrb_intern_lit(mrb, "__timeout"), mrb_int_value(mrb, own));
  return regexp;
}

/* The source of a Regexp that matches exactly this text. Blanks are escaped too, for the option `x`. */
mrb_value fg_regexp_quote(mrb_state *mrb, const char *text, size_t length)
{
  static const char special[] = "[]{}()|-*.\\?+^$# ", spaces[] = "\t\f\v\n\r", names[] = "tfvnr";
  mrb_value out = mrb_str_new_capa(mrb, (mrb_int)length + 8);
  for (size_t i = 0; i < length; i++) {
    const char *space = text[i] ? strchr(spaces, text[i]) : NULL;
    if (space || (text[i] && strchr(special, text[i]))) mrb_str_cat_lit(mrb, out, "\\");
    mrb_str_cat(mrb, out, space ? names + (space - spaces) : text + i, 1);
  }
  return out;
}

static mrb_value s_escape(mrb_state *mrb, mrb_value klass)
{
  mrb_value text;
  (void)klass;
  mrb_get_args(mrb, "o", &text);
  text = mrb_symbol_p(text) ? mrb_sym_str(mrb, mrb_symbol(text)) : text_of(mrb, text);
  mrb_value quoted = fg_regexp_quote(mrb, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
  if (fg_bytes_marked(text) && !fg_is_ascii_text(RSTRING_PTR(text), (size_t)RSTRING_LEN(text))) {
    fg_bytes_mark(quoted, true);
  }
  return quoted;
}

static mrb_value s_timeout(mrb_state *mrb, mrb_value klass)
{
  uint64_t timeout = fg_of(mrb)->regexp_timeout;
  (void)klass;
  return timeout == 0 ? mrb_nil_value() : mrb_float_value(mrb, (double)timeout / 1e9);
}

static mrb_value s_set_timeout(mrb_state *mrb, mrb_value klass)
{
  mrb_value seconds;
  (void)klass;
  mrb_get_args(mrb, "o", &seconds);
  fg_of(mrb)->regexp_timeout = (uint64_t)nanoseconds(mrb, seconds);
  return seconds;
}

static mrb_value timeout_of(mrb_state *mrb, mrb_value self)
{
  mrb_value own = mrb_iv_get(mrb, self, mrb_intern_lit(mrb, "__timeout"));
  return mrb_integer_p(own) ? mrb_float_value(mrb, (double)mrb_integer(own) / 1e9) : mrb_nil_value();
}

static mrb_value options(mrb_state *mrb, mrb_value self)
{
  return mrb_fixnum_value(fg_pattern_options(fg_regexp_pattern(mrb, self)));
}

static mrb_value to_s(mrb_state *mrb, mrb_value self)
{
  uint32_t set = fg_pattern_options(fg_regexp_pattern(mrb, self));
  mrb_value out = mrb_str_new_lit(mrb, "(?");
  size_t length;
  const char *source = fg_pattern_source(fg_regexp_pattern(mrb, self), &length);
  put_flags(mrb, out, set);
  if ((set & 7) != 7) mrb_str_cat_lit(mrb, out, "-");
  put_flags(mrb, out, ~set);
  mrb_str_cat_lit(mrb, out, ":");
  put_source(mrb, out, source, length);
  return mrb_str_cat_lit(mrb, out, ")");
}

static mrb_value inspect(mrb_state *mrb, mrb_value self)
{
  mrb_value out = mrb_str_new_lit(mrb, "/");
  size_t length;
  const char *source = fg_pattern_source(fg_regexp_pattern(mrb, self), &length);
  put_source(mrb, out, source, length);
  mrb_str_cat_lit(mrb, out, "/");
  put_flags(mrb, out, fg_pattern_options(DATA_PTR(self)));
  if (fg_pattern_options(DATA_PTR(self)) & NOENCODING) mrb_str_cat_lit(mrb, out, "n");
  return out;
}

static mrb_value names(mrb_state *mrb, mrb_value self)
{
  mrb_value all = mrb_ary_new(mrb);
  size_t length;
  const char *name;
  for (size_t i = 0; (name = fg_pattern_name(fg_regexp_pattern(mrb, self), i, &length)) != NULL; i++) {
    mrb_ary_push(mrb, all, mrb_str_new(mrb, name, (mrb_int)length));
  }
  return all;
}

/* The numbers of the groups of one name. */
static mrb_value groups_named(mrb_state *mrb, mrb_value self)
{
  const char *name;
  mrb_int length;
  mrb_get_args(mrb, "s", &name, &length);
  mrb_value all = mrb_ary_new(mrb);
  uint32_t group;
  for (size_t i = 0; (group = fg_pattern_group(fg_regexp_pattern(mrb, self), name, (size_t)length, i)) != 0; i++) {
    mrb_ary_push(mrb, all, mrb_fixnum_value(group));
  }
  return all;
}

static mrb_value equal(mrb_state *mrb, mrb_value self)
{
  mrb_value other;
  mrb_get_args(mrb, "o", &other);
  if (!fg_is_regexp(mrb, other)) return mrb_false_value();
  const fg_pattern *one = fg_regexp_pattern(mrb, self), *two = fg_regexp_pattern(mrb, other);
  size_t length;
  const char *source = fg_pattern_source(two, &length);
  return mrb_bool_value(is_of(one, source, length, fg_pattern_options(two)));
}

/* The hash of the text of `inspect`, which has source and options: equal Regexps have the same. */
static mrb_value hash(mrb_state *mrb, mrb_value self)
{
  return mrb_funcall(mrb, inspect(mrb, self), "hash", 0);
}

/* Regexp#fixed_encoding?: whether the source has characters beyond ASCII. */
static mrb_value is_fixed(mrb_state *mrb, mrb_value self)
{
  size_t length;
  const char *source = fg_pattern_source(fg_regexp_pattern(mrb, self), &length);
  return mrb_bool_value(!fg_is_ascii_text(source, length));
}

static mrb_value is_linear(mrb_state *mrb, mrb_value self)
{
  return mrb_bool_value(fg_pattern_is_linear(fg_regexp_pattern(mrb, self)));
}

void fg_regexp_init(mrb_state *mrb, fg_vm *vm)
{
  struct RClass *klass = vm->regexp_class = mrb_define_class(mrb, "Regexp", mrb->object_class);
  MRB_SET_INSTANCE_TT(klass, MRB_TT_DATA);
  if (!mrb_class_defined(mrb, "RegexpError")) mrb_define_class(mrb, "RegexpError", mrb->eStandardError_class);
  mrb_define_class_under(mrb, klass, "TimeoutError", mrb_class_get(mrb, "RegexpError"));
  mrb_define_const(mrb, klass, "IGNORECASE", mrb_fixnum_value(IGNORECASE));
  mrb_define_const(mrb, klass, "EXTENDED", mrb_fixnum_value(EXTENDED));
  mrb_define_const(mrb, klass, "MULTILINE", mrb_fixnum_value(MULTILINE));
  mrb_define_const(mrb, klass, "FIXEDENCODING", mrb_fixnum_value(16));
  mrb_define_const(mrb, klass, "NOENCODING", mrb_fixnum_value(NOENCODING));
  vm->regexps = mrb_ary_new_capa(mrb, REMEMBERED + 1);
  mrb_gc_register(mrb, vm->regexps);
  mrb_ary_set(mrb, vm->regexps, REMEMBERED, mrb_nil_value());
  mrb_define_class_method(mrb, klass, "new", s_new, MRB_ARGS_ANY());
  mrb_define_class_method(mrb, klass, "compile", s_new, MRB_ARGS_ANY());
  mrb_define_class_method(mrb, klass, "escape", s_escape, MRB_ARGS_REQ(1));
  mrb_define_class_method(mrb, klass, "quote", s_escape, MRB_ARGS_REQ(1));
  mrb_define_class_method(mrb, klass, "timeout", s_timeout, MRB_ARGS_NONE());
  mrb_define_class_method(mrb, klass, "timeout=", s_set_timeout, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "source", source_of, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "options", options, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "timeout", timeout_of, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "to_s", to_s, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "inspect", inspect, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "names", names, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__groups", groups_named, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "==", equal, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "eql?", equal, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, klass, "hash", hash, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "__linear?", is_linear, MRB_ARGS_NONE());
  mrb_define_method(mrb, klass, "fixed_encoding?", is_fixed, MRB_ARGS_NONE());
}
