/* Searches in Strings, for Regexps and Strings, and the last match (`$~`), which belongs to a method as in CRuby.
 *
 * A match is kept in the frame of the method that searched; blocks share that of the method around them. Our mruby has
 * a field for it in each frame (mruby/patches, regexps); without the patch an interpreter has only one. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Indexes in `match_symbols`: `$~`, `$&`, `` $` ``, `$'`, `$+`, then `$1` and so on. */
enum { LAST, WHOLE, PRE, POST, LAST_GROUP, FIRST_GROUP };
#define GLOBALS (sizeof ((fg_vm *)0)->match_symbols / sizeof(mrb_sym))

extern struct RBasic **fg_match_place(mrb_callinfo *) __attribute__((weak));
extern int (*fg_on_gv_set)(mrb_state *, mrb_sym, mrb_value) __attribute__((weak));

/* --- searching -------------------------------------------------------------------------------------------------- */

/* Raises CRuby's TypeError for an object that is neither Regexp nor String. */
mrb_noreturn void fg_no_pattern(mrb_state *mrb, mrb_value pattern)
{
  if (mrb_nil_p(pattern)) mrb_raise(mrb, E_TYPE_ERROR, "wrong argument type nil (expected Regexp)");
  mrb_raisef(mrb, E_TYPE_ERROR, "wrong argument type %T (expected Regexp)", pattern);
}

/* The pattern itself if it is a Regexp, else its String by `to_str`. */
mrb_value fg_as_pattern(mrb_state *mrb, mrb_value pattern)
{
  mrb_value found = fg_is_regexp(mrb, pattern) ? pattern : mrb_check_string_type(mrb, pattern);
  if (mrb_nil_p(found)) fg_no_pattern(mrb, pattern);
  return found;
}

/* Prepares a search in `text`; TypeError where `pattern` is neither Regexp nor String. */
void fg_finder_init(mrb_state *mrb, fg_finder *finder, mrb_value pattern, mrb_value text)
{
  fg_finder_begin(mrb, finder, pattern, text, 0, FG_TEXT_UNKNOWN);
}

/* Prepares a search in a text whose kind may be known. For the pattern the text begins at byte `base`. Slots beyond
 * FG_SLOTS are in a String, which the arena keeps: the caller must not restore the arena to a point before this. */
void fg_finder_begin(mrb_state *mrb, fg_finder *finder, mrb_value pattern, mrb_value text, size_t base, uint8_t kind)
{
  finder->pattern = pattern;
  finder->text = text;
  finder->native = NULL;
  finder->base = base;
  finder->kind = kind;
  finder->timeout = 0;
  finder->slots = finder->few;
  finder->room = 2;
  if (fg_is_regexp(mrb, pattern)) {
    finder->native = fg_regexp_pattern(mrb, pattern);
    if (fg_bytes_marked(text)) finder->kind = FG_TEXT_BYTES;
    else if (kind == FG_TEXT_UNKNOWN) finder->kind = fg_text_kind(RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    finder->room = 2 * ((size_t)fg_pattern_groups(finder->native) + 1);
    finder->timeout = fg_of(mrb)->regexp_timeout;
    /* Only a Regexp with a timeout of its own has an instance variable. */
    if (RDATA(pattern)->iv) {
      mrb_value own = mrb_iv_get(mrb, pattern, mrb_intern_lit(mrb, "__timeout"));
      if (mrb_integer_p(own)) finder->timeout = (uint64_t)mrb_integer(own);
    }
    if (finder->room > FG_SLOTS) {
      mrb_value room = mrb_str_new(mrb, NULL, (mrb_int)(finder->room * sizeof(size_t)));
      finder->slots = (size_t *)RSTRING_PTR(room);
    }
  }
  else finder->pattern = fg_as_pattern(mrb, pattern);
}

static bool find_text(fg_finder *finder, size_t start, bool anchored)
{
  const char *text = RSTRING_PTR(finder->text), *needle = RSTRING_PTR(finder->pattern);
  size_t length = (size_t)RSTRING_LEN(finder->text), wanted = (size_t)RSTRING_LEN(finder->pattern);
  if (start > length || wanted > length - start) return false;
  /* Declared by string.h only with _GNU_SOURCE. */
  extern void *memmem(const void *, size_t, const void *, size_t);
  const char *at = text + start;
  if (!anchored) at = memmem(at, length - start, needle, wanted);
  else if (memcmp(at, needle, wanted) != 0) at = NULL;
  if (at == NULL) return false;
  finder->slots[0] = (size_t)(at - text);
  finder->slots[1] = finder->slots[0] + wanted;
  return true;
}

/* Finds the first match from byte `start` on, or with `anchored` only there; its positions are in the slots. Raises for
 * every way in which a search can end early. */
bool fg_find(mrb_state *mrb, fg_finder *finder, size_t start, bool anchored)
{
  fg_look_at_clock(mrb);
  if (finder->native == NULL) return find_text(finder, start, anchored);
  fg_search search = {
    RSTRING_PTR(finder->text) + finder->base, (size_t)RSTRING_LEN(finder->text) - finder->base, start - finder->base,
    anchored, finder->kind, finder->timeout,
  };
  switch (fg_pattern_search(fg_of(mrb)->host, finder->native, &search, finder->slots, finder->room)) {
  case FG_NOT_FOUND: return false;
  case FG_FOUND:
    for (size_t i = 0; finder->base > 0 && i < finder->room; i++) {
      if (finder->slots[i] != FG_UNSET) finder->slots[i] += finder->base;
    }
    return true;
  case FG_OVERTIME: fg_out_of_time(mrb, FG_STOP);
  case FG_SEARCH_EXPIRED: fg_out_of_time(mrb, FG_EXPIRED);
  case FG_TIMEOUT:
    mrb_raise(mrb, mrb_class_get_under(mrb, fg_of(mrb)->regexp_class, "TimeoutError"), "regexp match timeout");
  default: mrb_raise(mrb, mrb_class_get(mrb, "RegexpError"), "match-stack limit over");
  }
}

/* Finds the last position at or before byte `start` where the pattern matches. `fg_find` checks the deadline timer at
 * each position. */
bool fg_find_last(mrb_state *mrb, fg_finder *finder, size_t start)
{
  size_t length = (size_t)RSTRING_LEN(finder->text);
  if (start > length) start = length;
  for (;;) {
    if (fg_find(mrb, finder, start, true)) return true;
    if (start == 0) return false;
    start = finder->kind == FG_TEXT_BYTES ? start - 1 : fg_text_before(RSTRING_PTR(finder->text), start);
  }
}

/* The byte where the next search begins: behind the match, or one character further where the match was empty. */
size_t fg_after(fg_finder *finder)
{
  size_t end = finder->slots[1], length = (size_t)RSTRING_LEN(finder->text);
  if (finder->slots[0] != end) return end;
  if (end >= length || finder->kind == FG_TEXT_BYTES) return end + 1;
  size_t step = fg_bytes_offset(finder->text, end, 1);
  return end + (step == FG_UNSET ? 1 : step);
}

/* --- the last match --------------------------------------------------------------------------------------------- */

/* A MatchData in the form of a Struct: text, pattern, and the positions, nil for a group that has not matched. The
 * object is allocated before the memory of its values: should the second fail, nothing leaks. */
mrb_value fg_match_new(mrb_state *mrb, fg_finder *finder)
{
  mrb_value text = finder->text;
  if (!mrb_frozen_p(mrb_basic_ptr(text))) {
    text = mrb_str_dup(mrb, text);
    mrb_basic_ptr(text)->flags |= MRB_FL_OBJ_IS_FROZEN;
  }
  size_t count = FG_MATCH_SLOTS + finder->room;
  struct RArray *match = (struct RArray *)mrb_obj_alloc(mrb, MRB_TT_STRUCT, fg_of(mrb)->match_class);
  mrb_value *values = mrb_malloc(mrb, count * sizeof *values);
  values[FG_MATCH_TEXT] = text;
  values[FG_MATCH_PATTERN] = finder->pattern;
  for (size_t i = 0; i < finder->room; i++) {
    size_t at = finder->slots[i];
    values[FG_MATCH_SLOTS + i] = at == FG_UNSET ? mrb_nil_value() : mrb_fixnum_value((mrb_int)at);
  }
  match->as.heap.ptr = values;
  match->as.heap.len = match->as.heap.aux.capa = (mrb_ssize)count;
  return mrb_obj_value(match);
}

static mrb_callinfo *ruby_frame(struct mrb_context *fiber, mrb_callinfo *ci)
{
  while (ci > fiber->cibase && (ci->proc == NULL || MRB_PROC_CFUNC_P(ci->proc))) ci--;
  return ci;
}

/* The frame of the outermost block or method around a block that still runs; else the block's own. */
static mrb_callinfo *method_frame(struct mrb_context *fiber, mrb_callinfo *ci)
{
  struct REnv *env = NULL;
  const struct RProc *proc = ci->proc;
  if (proc == NULL || MRB_PROC_CFUNC_P(proc) || MRB_PROC_SCOPE_P(proc)) return ci;
  for (; proc && !MRB_PROC_CFUNC_P(proc) && !MRB_PROC_SCOPE_P(proc); proc = proc->upper) {
    struct REnv *around = MRB_PROC_ENV(proc);
    if (around && MRB_ENV_ONSTACK_P(around) && around->cxt == fiber) env = around;
  }
  if (env == NULL) return ci;
  for (mrb_callinfo *frame = ci; frame >= fiber->cibase; frame--) if (frame->u.env == env) return frame;
  return ci;
}

/* The field for the last match of the method that runs now, or of the one that is `above` calls further up; NULL
 * without the patch. */
static struct RBasic **place(mrb_state *mrb, int above)
{
  struct mrb_context *fiber = mrb->c;
  if (&fg_match_place == NULL) return NULL;
  mrb_callinfo *ci = method_frame(fiber, ruby_frame(fiber, fiber->ci));
  for (; above > 0 && ci > fiber->cibase; above--) ci = method_frame(fiber, ruby_frame(fiber, ci - 1));
  return fg_match_place(ci);
}

mrb_value fg_match_get(mrb_state *mrb, int above)
{
  struct RBasic **found = place(mrb, above);
  if (found) return *found ? mrb_obj_value(*found) : mrb_nil_value();
  return mrb_ary_entry(fg_of(mrb)->regexps, 0);
}

void fg_match_set(mrb_state *mrb, mrb_value match, int above)
{
  struct RBasic **found = place(mrb, above);
  if (found) {
    *found = mrb_nil_p(match) ? NULL : mrb_basic_ptr(match);
    return;
  }
  mrb_ary_set(mrb, fg_of(mrb)->regexps, 0, match);
  /* Without the patch, reading `$1` does not call us, so that all variables are set at once. */
  for (size_t i = 0; i < GLOBALS; i++) {
    mrb_value value = mrb_nil_value();
    fg_match_global(mrb, fg_of(mrb)->match_symbols[i], &value);
    mrb_gv_set(mrb, fg_of(mrb)->match_symbols[i], value);
  }
}

static mrb_value last_group(mrb_state *mrb, mrb_value match)
{
  for (size_t group = fg_match_size(match) - 1; group > 0; group--) {
    mrb_value text = fg_match_group(mrb, match, group);
    if (!mrb_nil_p(text)) return text;
  }
  return mrb_nil_value();
}

/* Reads `$~`, `$&`, `$1` and so on; 0 for any other name. */
int fg_match_global(mrb_state *mrb, mrb_sym name, mrb_value *value)
{
  const fg_vm *vm = fg_of(mrb);
  size_t which = 0;
  while (which < GLOBALS && vm->match_symbols[which] != name) which++;
  if (which == GLOBALS) return 0;
  mrb_value match = fg_match_get(mrb, 0);
  *value = match;
  if (mrb_nil_p(match)) return 1;
  switch (which) {
  case LAST: break;
  case WHOLE: *value = fg_match_group(mrb, match, 0); break;
  case PRE: *value = fg_match_pre(mrb, match); break;
  case POST: *value = fg_match_post(mrb, match); break;
  case LAST_GROUP: *value = last_group(mrb, match); break;
  default: *value = fg_match_group(mrb, match, which - FIRST_GROUP + 1);
  }
  return 1;
}

/* Raises a TypeError for a value from Ruby that is neither MatchData nor nil. */
void fg_match_check(mrb_state *mrb, mrb_value value)
{
  if (mrb_nil_p(value) || mrb_obj_class(mrb, value) == fg_of(mrb)->match_class) return;
  mrb_raisef(mrb, E_TYPE_ERROR, "wrong argument type %T (expected MatchData)", value);
}

/* Hook for writes to global variables: aliases, variables with checks (globals.c), and `$~`. Returns 0 where mruby must
 * do the write. */
static int set_global(mrb_state *mrb, mrb_sym name, mrb_value value)
{
  if (fg_of(mrb) == NULL) return 0;
  mrb_sym means = fg_global_name(fg_of(mrb), name);
  if (fg_global_set(mrb, name, means, value)) return 1;
  if (means != name) {
    mrb_gv_set(mrb, means, value);
    return 1;
  }
  if (name != fg_of(mrb)->match_symbols[LAST]) return 0;
  fg_match_check(mrb, value);
  fg_match_set(mrb, value, 0);
  return 1;
}

/* Regexp.last_match, Regexp.last_match(1), Regexp.last_match(:name) */
static mrb_value s_last_match(mrb_state *mrb, mrb_value klass)
{
  mrb_value group = mrb_nil_value();
  (void)klass;
  mrb_get_args(mrb, "|o", &group);
  mrb_value match = fg_match_get(mrb, 0);
  if (mrb_nil_p(group) || mrb_nil_p(match)) return match;
  return mrb_funcall(mrb, match, "[]", 1, group);
}

/* Called after fg_regexp_init, which defines the class. */
void fg_finder_setup(mrb_state *mrb, fg_vm *vm)
{
  static const char *const names[] = {"$~", "$&", "$`", "$'", "$+"};
  for (size_t i = 0; i < GLOBALS; i++) {
    char number[8] = "$";
    if (i < FIRST_GROUP) {
      vm->match_symbols[i] = mrb_intern_cstr(mrb, names[i]);
      continue;
    }
    size_t group = i - FIRST_GROUP + 1, length = 1;
    if (group >= 10) number[length++] = (char)('0' + group / 10);
    number[length++] = (char)('0' + group % 10);
    vm->match_symbols[i] = mrb_intern(mrb, number, length);
  }
  if (&fg_on_gv_set) fg_on_gv_set = set_global;
  mrb_define_class_method(mrb, vm->regexp_class, "last_match", s_last_match, MRB_ARGS_OPT(1));
}
