/* Methods of Array in C that our Ruby code calls in tight loops. */
#include "fg.h"

#include <mruby/array.h>

/* Array#__packed: the arguments of a block for an element of these values: several values become one Array. */
static mrb_value packed(mrb_state *mrb, mrb_value self)
{
  return RARRAY_LEN(self) > 1 ? mrb_ary_new_from_values(mrb, 1, &self) : self;
}

/* Array#__total(start): the sum, or nil where an element is not an Integer of 64 bits or the sum does not fit. */
static mrb_value total(mrb_state *mrb, mrb_value self)
{
  mrb_value start;
  mrb_get_args(mrb, "o", &start);
  if (!mrb_integer_p(start)) return mrb_nil_value();
  mrb_int sum = mrb_integer(start);
  const mrb_value *one = RARRAY_PTR(self), *end = one + RARRAY_LEN(self);
  for (; one < end; one++) {
    if (!mrb_integer_p(*one) || __builtin_add_overflow(sum, mrb_integer(*one), &sum)) return mrb_nil_value();
  }
  return mrb_int_value(mrb, sum);
}

void fg_lists_init(mrb_state *mrb)
{
  mrb_define_method(mrb, mrb->array_class, "__packed", packed, MRB_ARGS_NONE());
  mrb_define_method(mrb, mrb->array_class, "__total", total, MRB_ARGS_REQ(1));
}
