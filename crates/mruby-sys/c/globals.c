/* Special global variables: aliases, which each read or write looks up here, read-only variables, and variables that
 * take only some values. The lexer makes `alias $new $old` a call of `__alias_global__` (mruby/patches,
 * global-variables). */
#include "fg.h"

#include <string.h>

#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* The global variable that a name stands for: the one it is an alias of, else the one of that name. */
mrb_sym fg_global_name(const fg_vm *vm, mrb_sym name)
{
  for (size_t i = 0; i < vm->alias_count; i++) {
    if (vm->aliases[i].name == name) return vm->aliases[i].means;
  }
  return name;
}

static void add_alias(mrb_state *mrb, fg_vm *vm, mrb_sym name, mrb_sym means)
{
  for (size_t i = 0; i < vm->alias_count; i++) {
    if (vm->aliases[i].name != name) continue;
    vm->aliases[i].means = means;
    return;
  }
  vm->aliases = mrb_realloc(mrb, vm->aliases, (vm->alias_count + 1) * sizeof *vm->aliases);
  vm->aliases[vm->alias_count++] = (struct fg_alias) {name, means};
}

static mrb_value alias_global(mrb_state *mrb, mrb_value self)
{
  mrb_sym name, means;
  fg_vm *vm = fg_of(mrb);
  (void)self;
  mrb_get_args(mrb, "nn", &name, &means);
  /* To the end: that of an alias may have become one itself. So no alias leads back to its own name. */
  for (mrb_sym next; (next = fg_global_name(vm, means)) != means && next != name;) means = next;
  if (fg_global_name(vm, means) == name) means = name;
  if (name != means) add_alias(mrb, vm, name, means);
  return mrb_nil_value();
}

static const char *const names[][2] = {
  {"$-0", "$/"}, {"$-F", "$;"}, {"$-I", "$:"}, {"$LOAD_PATH", "$:"}, {"$LOADED_FEATURES", "$\""}, {"$-d", "$DEBUG"},
  {"$-v", "$VERBOSE"}, {"$-w", "$VERBOSE"}, {"$PROGRAM_NAME", "$0"}, {"$>", "$stdout"},
};

/* The values that a variable takes. ONCE: it is read-only once it has a value, since Ruby code of ours sets it first.
 * */
enum kind { NOTHING, ONCE, TEXT, SEPARATOR, NUMBER, OUTPUT, TRUTH, NAME, BACKTRACE };

static const struct { const char *name; enum kind kind; } kinds[] = {
  {"$!", NOTHING}, {"$&", NOTHING}, {"$`", NOTHING}, {"$'", NOTHING}, {"$+", NOTHING}, {"$<", NOTHING},
  {"$FILENAME", NOTHING}, {"$?", NOTHING}, {"$-a", NOTHING}, {"$-l", NOTHING}, {"$-p", NOTHING},
  {"$:", ONCE}, {"$$", ONCE}, {"$*", ONCE}, {"$\"", ONCE}, {"$/", TEXT}, {"$\\", TEXT}, {"$,", TEXT},
  {"$;", SEPARATOR}, {"$.", NUMBER}, {"$stdout", OUTPUT}, {"$stderr", OUTPUT}, {"$VERBOSE", TRUTH}, {"$0", NAME},
  {"$@", BACKTRACE},
};
_Static_assert(sizeof kinds / sizeof *kinds == FG_GLOBAL_KINDS, "a place for each");

/* The String that `to_str` returns, or a TypeError. */
static mrb_value text_of(mrb_state *mrb, mrb_value value)
{
  return mrb_string_p(value) ? value : mrb_convert_type(mrb, value, MRB_TT_STRING, "String", "to_str");
}

/* Checks a value that is written to the variable `means` by the name `name`. Returns 1 where the write is done, 0 where
 * the caller must do it. Raises what CRuby raises, with the name that the program used. */
int fg_global_set(mrb_state *mrb, mrb_sym name, mrb_sym means, mrb_value value)
{
  const fg_vm *vm = fg_of(mrb);
  size_t i = 0;
  while (i < FG_GLOBAL_KINDS && vm->global_kinds[i] != means) i++;
  if (i == FG_GLOBAL_KINDS) return 0;
  switch (kinds[i].kind) {
  case ONCE:
    if (mrb_nil_p(mrb_gv_get(mrb, means))) return 0;
  /* fall through */
  case NOTHING:
    mrb_name_error(mrb, name, "%n is a read-only variable", name);
    return 1;
  case TEXT:
    if (mrb_nil_p(value) || mrb_string_p(value)) return 0;
    mrb_raisef(mrb, E_TYPE_ERROR, "value of %n must be String", name);
    return 1;
  case SEPARATOR:
    if (mrb_nil_p(value) || mrb_string_p(value) || mrb_obj_class(mrb, value) == vm->regexp_class) return 0;
    mrb_raisef(mrb, E_TYPE_ERROR, "value of %n must be String or Regexp", name);
    return 1;
  case NUMBER:
    if (mrb_integer_p(value)) return 0;
    mrb_gv_set(mrb, means, mrb_ensure_int_type(mrb, value));
    return 1;
  case OUTPUT:
    if (mrb_respond_to(mrb, value, mrb_intern_lit(mrb, "write"))) return 0;
    mrb_raisef(mrb, E_TYPE_ERROR, "%n must have write method, %T given", name, value);
    return 1;
  case TRUTH:
    if (mrb_nil_p(value) || mrb_true_p(value) || mrb_false_p(value)) return 0;
    mrb_gv_set(mrb, means, mrb_true_value());
    return 1;
  case NAME:
    if (mrb_string_p(value)) return 0;
    mrb_gv_set(mrb, means, text_of(mrb, value));
    return 1;
  case BACKTRACE: {
    mrb_value error = mrb_gv_get(mrb, mrb_intern_lit(mrb, "$!"));
    if (mrb_nil_p(error)) mrb_raise(mrb, E_ARGUMENT_ERROR, "$! not set");
    mrb_funcall(mrb, error, "set_backtrace", 1, value);
    return 1;
  }
  }
  return 0;
}

/* Reads `$@`, the backtrace of the exception that is being handled; 0 for any other name. */
int fg_global_backtrace(mrb_state *mrb, mrb_sym name, mrb_value *value)
{
  if (name != mrb_intern_lit(mrb, "$@")) return 0;
  mrb_value error = mrb_gv_get(mrb, mrb_intern_lit(mrb, "$!"));
  *value = mrb_nil_p(error) ? error : mrb_funcall(mrb, error, "backtrace", 0);
  return 1;
}

void fg_globals_init(mrb_state *mrb)
{
  fg_vm *vm = fg_of(mrb);
  struct RClass *basic = mrb_class_get(mrb, "BasicObject");
  mrb_define_method(mrb, basic, "__alias_global__", alias_global, MRB_ARGS_REQ(2));
  static const char *const off[] = {"$VERBOSE", "$DEBUG", "$-a", "$-l", "$-p"};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
    mrb_gv_set(mrb, mrb_intern_static(mrb, off[i], strlen(off[i])), mrb_false_value());
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mrb_sym name = mrb_intern_static(mrb, names[i][0], strlen(names[i][0]));
    add_alias(mrb, vm, name, mrb_intern_static(mrb, names[i][1], strlen(names[i][1])));
  }
  for (size_t i = 0; i < FG_GLOBAL_KINDS; i++) {
    vm->global_kinds[i] = mrb_intern_static(mrb, kinds[i].name, strlen(kinds[i].name));
  }
}

/* Called before mrb_close, whose allocator this memory belongs to. */
void fg_globals_close(fg_vm *vm)
{
  mrb_free(vm->mrb, vm->aliases);
}
