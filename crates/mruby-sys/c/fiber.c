/* Fiber#resume with a limit: the garbage collector follows the whole chain of waiting fibers for each fiber that it
 * marks, in one step that no deadline can interrupt, so an endless chain would hold the interpreter for minutes. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/proc.h>

/* Fibers that can wait for each other, each for the one that it has resumed: as many as calls can be nested. */
enum { WAITING_MAX = MRB_CALL_LEVEL_MAX };

static bool is_full(const mrb_state *mrb)
{
  int waiting = 0;
  for (const struct mrb_context *fiber = mrb->c; fiber->prev != NULL; fiber = fiber->prev) {
    if (++waiting >= WAITING_MAX) return true;
  }
  return false;
}

/* Runs mruby's own function in this frame, which tells it whether the virtual machine or C has called. */
static mrb_value resume(mrb_state *mrb, mrb_value self)
{
  if (is_full(mrb)) mrb_raisef(mrb, E_FIBER_ERROR, "too many nested fibers (at most %d)", WAITING_MAX);
  return fg_of(mrb)->fiber_resume(mrb, self);
}

void fg_fiber_init(mrb_state *mrb, fg_vm *vm)
{
  struct RClass *fiber = mrb_class_get(mrb, "Fiber");
  vm->fiber_resume = fg_own_function(mrb, fiber, mrb_intern_lit(mrb, "resume"));
  if (vm->fiber_resume == NULL) return;
  mrb_define_method(mrb, fiber, "resume", resume, MRB_ARGS_ANY());
}
