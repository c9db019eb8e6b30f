/* Functions of Math, and Integer#**, for numbers that mruby's own do not take: Rational, BigDecimal and other classes
 * of Numeric, and exponents beyond 64 bits. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/proc.h>

/* Arguments of a function of Math. */
enum { ARGUMENTS_MAX = 2 };

static bool is_foreign(mrb_state *mrb, mrb_value value, struct RClass *numeric)
{
  if (mrb_fixnum_p(value) || mrb_float_p(value) || mrb_integer_p(value) || mrb_bigint_p(value)) return false;
  return mrb_obj_is_kind_of(mrb, value, numeric);
}

/* A function of Math: it calls itself again with Floats where an argument is another kind of number, since mruby's own
 * function, which the environment holds, takes its arguments from this frame. */
static mrb_value math(mrb_state *mrb, mrb_value self)
{
  const mrb_value *args;
  mrb_int count;
  mrb_get_args(mrb, "*!", &args, &count);
  struct RClass *numeric = NULL;
  for (mrb_int i = 0; i < count && i < ARGUMENTS_MAX; i++) {
    if (mrb_fixnum_p(args[i]) || mrb_float_p(args[i])) continue;
    if (numeric == NULL) numeric = mrb_class_get(mrb, "Numeric");
    if (!is_foreign(mrb, args[i], numeric) || count > ARGUMENTS_MAX) continue;
    /* Copied at once: the arguments are on Ruby's stack, which moves when to_f runs. */
    mrb_value copies[ARGUMENTS_MAX];
    for (mrb_int at = 0; at < count; at++) copies[at] = args[at];
    mrb_sym name = mrb->c->ci->mid;
    for (mrb_int at = 0; at < count; at++) {
      if (is_foreign(mrb, copies[at], numeric)) copies[at] = mrb_funcall(mrb, copies[at], "to_f", 0);
      /* What to_f of a class of the application returns would come here for ever. */
      if (is_foreign(mrb, copies[at], numeric)) mrb_raise(mrb, E_TYPE_ERROR, "to_f must return a Float");
    }
    return mrb_funcall_argv(mrb, self, name, count, copies);
  }
  return ((mrb_func_t)mrb_cptr(mrb_proc_cfunc_env_get(mrb, 0)))(mrb, self);
}

static void wrap(mrb_state *mrb, struct RClass *owner, mrb_sym name)
{
  mrb_func_t own = fg_own_function(mrb, owner, name);
  if (own == NULL) return;
  mrb_value function = mrb_cptr_value(mrb, (void *)own);
  mrb_method_t method;
  MRB_METHOD_FROM_PROC(method, mrb_proc_new_cfunc_with_env(mrb, math, 1, &function));
  mrb_define_method_raw(mrb, owner, name, method);
}

/* Integer#**. Powers of -1, 0 and 1 need no Integer that is larger than memory; one with a negative exponent is a
 * Rational (ruby/core/numeric.rb). */
static mrb_value power(mrb_state *mrb, mrb_value self)
{
  mrb_value exponent = mrb_get_arg1(mrb);
  if (mrb_integer_p(exponent) && mrb_integer(exponent) < 0) {
    return mrb_funcall(mrb, self, "__fraction_power", 1, exponent);
  }
  if (mrb_bigint_p(exponent) && mrb_integer_p(self)) {
    mrb_int base = mrb_integer(self);
    bool negative = mrb_test(mrb_funcall(mrb, exponent, "<", 1, mrb_fixnum_value(0)));
    if (base == 1 || (base == 0 && !negative)) return self;
    if (base == -1) {
      return mrb_test(mrb_funcall(mrb, exponent, "odd?", 0)) ? self : mrb_fixnum_value(1);
    }
  }
  return fg_of(mrb)->integer_power(mrb, self);
}

void fg_numbers_init(mrb_state *mrb, fg_vm *vm)
{
  static const char *const names[] = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
    "log", "log2", "log10", "sqrt", "cbrt", "frexp", "ldexp", "hypot", "erf", "erfc"
  };
  struct RClass *module = mrb_module_get(mrb, "Math");
  struct RClass *single = mrb_class_ptr(mrb_singleton_class(mrb, mrb_obj_value(module)));
  int arena = mrb_gc_arena_save(mrb);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    wrap(mrb, module, mrb_intern_cstr(mrb, names[i]));
    wrap(mrb, single, mrb_intern_cstr(mrb, names[i]));
    mrb_gc_arena_restore(mrb, arena);
  }
  vm->integer_power = fg_own_function(mrb, mrb->integer_class, mrb_intern_lit(mrb, "**"));
  if (vm->integer_power == NULL) return;
  mrb_define_method(mrb, mrb->integer_class, "**", power, MRB_ARGS_REQ(1));
}
