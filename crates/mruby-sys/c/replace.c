/* Methods of String that go through all matches of a pattern: scan, sub, gsub and split without a block. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/string.h>

static mrb_value cut(mrb_state *mrb, mrb_value text, size_t from, size_t to)
{
  return fg_bytes_part(mrb, text, (mrb_int)from, (mrb_int)(to - from));
}

/* The texts of the groups of a match, as String#scan returns them. */
static mrb_value groups(mrb_state *mrb, fg_finder *finder)
{
  mrb_value all = mrb_ary_new_capa(mrb, (mrb_int)finder->room / 2);
  for (size_t i = 2; i < finder->room; i += 2) {
    bool unset = finder->slots[i] == FG_UNSET || finder->slots[i + 1] == FG_UNSET;
    mrb_value part = unset ? mrb_nil_value() : cut(mrb, finder->text, finder->slots[i], finder->slots[i + 1]);
    mrb_ary_push(mrb, all, part);
  }
  return all;
}

/* String#scan without a block. The last match is found a second time in the end, so that only one MatchData is built.
 * */
static mrb_value string_scan(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern, all = mrb_ary_new(mrb), last = mrb_nil_value();
  mrb_get_args(mrb, "o", &pattern);
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, self);
  int arena = mrb_gc_arena_save(mrb);
  size_t start = 0, found = FG_UNSET;
  while (fg_find(mrb, &finder, start, false)) {
    found = start;
    mrb_value part = finder.room > 2 ? groups(mrb, &finder) : cut(mrb, self, finder.slots[0], finder.slots[1]);
    mrb_ary_push(mrb, all, part);
    mrb_gc_arena_restore(mrb, arena);
    start = fg_after(&finder);
  }
  /* One frame up (1): the caller is String#scan in ruby/substitute.rb, and `$~` is for its caller. */
  if (found != FG_UNSET && fg_find(mrb, &finder, found, false)) last = fg_match_new(mrb, &finder);
  fg_match_set(mrb, last, 1);
  return all;
}

static void put_slots(mrb_state *mrb, mrb_value out, fg_finder *finder, size_t group)
{
  if (2 * group + 1 >= finder->room) return;
  size_t from = finder->slots[2 * group], to = finder->slots[2 * group + 1];
  if (from != FG_UNSET && to != FG_UNSET) mrb_str_cat(mrb, out, RSTRING_PTR(finder->text) + from, to - from);
}

/* Appends the text of the last group that has matched. */
static void put_last_group(mrb_state *mrb, mrb_value out, fg_finder *finder)
{
  for (size_t group = finder->room / 2 - 1; group > 0; group--) {
    if (finder->slots[2 * group] == FG_UNSET) continue;
    put_slots(mrb, out, finder, group);
    return;
  }
}

/* Appends the group of a `\k<name>` at `at`, and returns the length of that reference; 0 where there is none. */
static size_t put_named(mrb_state *mrb, mrb_value out, fg_finder *finder, const char *at, const char *end)
{
  const char *close = end - at > 3 && at[2] == '<' ? memchr(at + 3, '>', (size_t)(end - at - 3)) : NULL;
  if (close == NULL || finder->native == NULL) return 0;
  size_t length = (size_t)(close - at - 3);
  uint32_t group, found = 0;
  for (size_t i = 0; (group = fg_pattern_group(finder->native, at + 3, length, i)) != 0; i++) {
    if (found == 0 || finder->slots[2 * group] != FG_UNSET) found = group;
  }
  if (found == 0 && length == 1 && at[3] >= '0' && at[3] <= '9') put_slots(mrb, out, finder, (size_t)(at[3] - '0'));
  else if (found == 0) {
    mrb_raisef(mrb, E_INDEX_ERROR, "undefined group name reference: %v", mrb_str_new(mrb, at + 3, (mrb_int)length));
  }
  else put_slots(mrb, out, finder, found);
  return (size_t)(close + 1 - at);
}

/* Appends a replacement, with its references (`\1`, `\k<name>`, `\&` and so on) replaced by the match. */
static void put_replacement(mrb_state *mrb, mrb_value out, fg_finder *finder, mrb_value replacement)
{
  const char *at = RSTRING_PTR(replacement), *end = at + RSTRING_LEN(replacement);
  while (at < end) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    if (slash == NULL || slash + 1 == end) break;
    mrb_str_cat(mrb, out, at, (size_t)(slash - at));
    char what = slash[1];
    at = slash + 2;
    if (what >= '0' && what <= '9') put_slots(mrb, out, finder, (size_t)(what - '0'));
    else if (what == '&') put_slots(mrb, out, finder, 0);
    else if (what == '`') mrb_str_cat(mrb, out, RSTRING_PTR(finder->text), finder->slots[0]);
    else if (what == '\'') {
      mrb_str_cat(mrb, out, RSTRING_PTR(finder->text) + finder->slots[1],
                  (size_t)RSTRING_LEN(finder->text) - finder->slots[1]);
    }
    else if (what == '\\') mrb_str_cat_lit(mrb, out, "\\");
    else if (what == '+') put_last_group(mrb, out, finder);
    else {
      size_t named = what == 'k' ? put_named(mrb, out, finder, slash, end) : 0;
      if (named > 0) at = slash + named;
      else mrb_str_cat(mrb, out, slash, 2);
    }
  }
  mrb_str_cat(mrb, out, at, (size_t)(end - at));
}

/* String#__replace(pattern, replacement, all): sub and gsub with a String or Hash. The new text, or nil without a
 * match. */
static mrb_value string_replace(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern, replacement, out = mrb_nil_value();
  mrb_bool all;
  mrb_get_args(mrb, "oob", &pattern, &replacement, &all);
  replacement = fg_plain(mrb, replacement);
  pattern = fg_plain(mrb, pattern);
  if (!mrb_hash_p(replacement)) replacement = mrb_ensure_string_type(mrb, replacement);
  /* The Hash may have a default that runs Ruby code, which could change the text. */
  mrb_value text = mrb_hash_p(replacement) ? mrb_str_dup(mrb, self) : self;
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, text);
  size_t start = 0, copied = 0, found = FG_UNSET, length = (size_t)RSTRING_LEN(text);
  if (fg_find(mrb, &finder, 0, false)) {
    out = mrb_str_new_capa(mrb, (mrb_int)length);
    /* Bytes stay bytes. A replacement with text beyond ASCII makes the result UTF-8 where the other bytes are ASCII. */
    if (fg_bytes_marked(self)) fg_bytes_mark(out, true);
  }
  int arena = mrb_gc_arena_save(mrb);
  if (!mrb_nil_p(out)) do {
      found = start;
      mrb_str_cat(mrb, out, RSTRING_PTR(text) + copied, finder.slots[0] - copied);
      if (mrb_hash_p(replacement)) {
        mrb_value key = cut(mrb, text, finder.slots[0], finder.slots[1]);
        mrb_str_cat_str(mrb, out, mrb_obj_as_string(mrb, mrb_hash_get(mrb, replacement, key)));
      }
      else put_replacement(mrb, out, &finder, replacement);
      copied = finder.slots[1];
      start = fg_after(&finder);
      mrb_gc_arena_restore(mrb, arena);
    } while (all && start <= length && fg_find(mrb, &finder, start, false));
  mrb_value last = mrb_nil_value();
  if (found != FG_UNSET) {
    mrb_str_cat(mrb, out, RSTRING_PTR(text) + copied, length - copied);
    if (fg_find(mrb, &finder, found, false)) last = fg_match_new(mrb, &finder);
  }
  fg_match_set(mrb, last, 1);
  return out;
}

static void drop_empty(mrb_state *mrb, mrb_value parts)
{
  while (RARRAY_LEN(parts) > 0) {
    mrb_value last = RARRAY_PTR(parts)[RARRAY_LEN(parts) - 1];
    if (!mrb_string_p(last) || RSTRING_LEN(last) > 0) return;
    mrb_ary_pop(mrb, parts);
  }
}

/* String#split by a Regexp, with the groups of each match, up to `limit` parts (0 for all, without empty parts at the
 * end). */
mrb_value fg_split(mrb_state *mrb, mrb_value self, mrb_value pattern, mrb_int limit)
{
  mrb_value parts = mrb_ary_new(mrb);
  size_t length = (size_t)RSTRING_LEN(self), from = 0, start = 0;
  if (length == 0) return parts;
  if (limit == 1) {
    mrb_ary_push(mrb, parts, mrb_str_dup(mrb, self));
    return parts;
  }
  fg_finder finder;
  fg_finder_init(mrb, &finder, pattern, self);
  mrb_int count = 1;
  int arena = mrb_gc_arena_save(mrb);
  while (start <= length && fg_find(mrb, &finder, start, false)) {
    size_t first = finder.slots[0], end = finder.slots[1];
    if (first == from && end == from && start == from) {
      /* An empty match where a part begins does not end it: it has at least one character. */
      start = fg_after(&finder);
      continue;
    }
    mrb_ary_push(mrb, parts, cut(mrb, self, from, first));
    for (size_t i = 2; i < finder.room; i += 2) {
      if (finder.slots[i] == FG_UNSET || finder.slots[i + 1] == FG_UNSET) continue;
      mrb_ary_push(mrb, parts, cut(mrb, self, finder.slots[i], finder.slots[i + 1]));
    }
    mrb_gc_arena_restore(mrb, arena);
    from = start = end;
    if (limit > 0 && ++count >= limit) break;
  }
  if (from < length || limit != 0) mrb_ary_push(mrb, parts, cut(mrb, self, from, length));
  if (limit == 0) drop_empty(mrb, parts);
  return parts;
}

/* String#__text_kind: how patterns take this text, for __find. */
static mrb_value string_kind(mrb_state *mrb, mrb_value self)
{
  (void)mrb;
  if (fg_bytes_marked(self)) return mrb_fixnum_value(FG_TEXT_BYTES);
  return mrb_fixnum_value(fg_text_kind(RSTRING_PTR(self), (size_t)RSTRING_LEN(self)));
}

/* String#__find(pattern, from, kind = unknown): the next match from byte `from` on, for methods written in Ruby. Those
 * that search again and again give the kind of the text: to find it takes linear time. */
static mrb_value string_find(mrb_state *mrb, mrb_value self)
{
  mrb_value pattern;
  mrb_int from, kind = FG_TEXT_UNKNOWN;
  mrb_get_args(mrb, "oi|i", &pattern, &from, &kind);
  fg_finder finder;
  fg_finder_begin(mrb, &finder, pattern, self, 0, (uint8_t)kind);
  if (from < 0 || from > RSTRING_LEN(self) || !fg_find(mrb, &finder, (size_t)from, false)) return mrb_nil_value();
  return fg_match_new(mrb, &finder);
}

/* FoolsGold.last_match = match: sets `$~` of the method that called the caller, or with `above` of one further up. */
static mrb_value set_match(mrb_state *mrb, mrb_value module)
{
  mrb_value match;
  mrb_int above = 1;
  (void)module;
  mrb_get_args(mrb, "o|i", &match, &above);
  fg_match_check(mrb, match);
  fg_match_set(mrb, match, (int)above);
  return match;
}

void fg_replace_init(mrb_state *mrb)
{
  struct RClass *string = mrb->string_class;
  mrb_define_method(mrb, string, "__scan", string_scan, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, string, "__replace", string_replace, MRB_ARGS_REQ(3));
  mrb_define_method(mrb, string, "__find", string_find, MRB_ARGS_ARG(2, 1));
  mrb_define_method(mrb, string, "__text_kind", string_kind, MRB_ARGS_NONE());
  struct RClass *module = mrb_module_get(mrb, "FoolsGold");
  mrb_define_module_function(mrb, module, "last_match=", set_match, MRB_ARGS_REQ(1));
  mrb_define_module_function(mrb, module, "__last_match", set_match, MRB_ARGS_ARG(1, 1));
}
