/* Hash#replace and initialize_copy tell the garbage collector about the pairs that they copy. mruby's own do not: the
 * pairs of a Hash that the collector had looked at already were freed while it still referred to them. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/proc.h>

static mrb_value replace(mrb_state *mrb, mrb_value self)
{
  mrb_value made = fg_of(mrb)->hash_replace(mrb, self);
  mrb_write_barrier(mrb, mrb_basic_ptr(self));
  return made;
}

void fg_hash_init(mrb_state *mrb, fg_vm *vm)
{
  vm->hash_replace = fg_own_function(mrb, mrb->hash_class, mrb_intern_lit(mrb, "replace"));
  if (vm->hash_replace == NULL) return;
  mrb_define_method(mrb, mrb->hash_class, "replace", replace, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, mrb->hash_class, "initialize_copy", replace, MRB_ARGS_REQ(1));
}
