/* Proc#binding: the variables and `self` of the place where a block was written. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/proc.h>
#include <mruby/variable.h>

/* Of mruby's gems binding and proc-ext, which have no headers. */
mrb_value mrb_binding_new(mrb_state *, const struct RProc *, mrb_value, struct REnv *);
mrb_value mrb_proc_source_location(mrb_state *, const struct RProc *);

static mrb_value proc_binding(mrb_state *mrb, mrb_value self)
{
  const struct RProc *proc = mrb_proc_ptr(self);
  struct REnv *env = MRB_PROC_CFUNC_P(proc) ? NULL : MRB_PROC_ENV(proc);
  const struct RProc *around = proc->upper;
  if (env == NULL || around == NULL || MRB_PROC_CFUNC_P(around)) {
    mrb_raise(mrb, E_ARGUMENT_ERROR, "Can't create Binding from C level Proc");
  }
  mrb_value receiver = MRB_ENV_LEN(env) > 0 ? env->stack[0] : mrb_nil_value();
  mrb_value binding = mrb_binding_new(mrb, around, receiver, env);
  /* It takes its line from the calling frame, which is another one here. */
  mrb_iv_remove(mrb, binding, mrb_intern_lit(mrb, "pc"));
  mrb_iv_set(mrb, binding, mrb_intern_lit(mrb, "source_location"), mrb_proc_source_location(mrb, proc));
  return binding;
}

void fg_binding_init(mrb_state *mrb)
{
  mrb_define_method(mrb, mrb->proc_class, "binding", proc_binding, MRB_ARGS_NONE());
}
