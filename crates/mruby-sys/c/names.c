/* Module#set_temporary_name: a name for a class or module that has no constant yet. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Of mruby/internal.h. It names a class without a name that is put into a constant. */
void mrb_obj_iv_set_force(mrb_state *, struct RObject *, mrb_sym, mrb_value);

/* mruby keeps a class's name in this variable; the second one marks a temporary name. */
#define NAME mrb_intern_lit(mrb, "__classname__")
#define TEMPORARY mrb_intern_lit(mrb, "__temporary__")

static void unname(mrb_state *mrb, mrb_value module)
{
  mrb_iv_remove(mrb, module, NAME);
  mrb_iv_remove(mrb, module, TEMPORARY);
}

/* Module#const_added: a constant gives its class or module the permanent name. */
static mrb_value const_added(mrb_state *mrb, mrb_value self)
{
  mrb_sym name;
  mrb_get_args(mrb, "n", &name);
  /* The variable itself: mrb_const_get would load an autoload constant. */
  mrb_value value = mrb_iv_get(mrb, self, name);
  if ((mrb_class_p(value) || mrb_module_p(value)) && mrb_iv_defined(mrb, value, TEMPORARY)) {
    unname(mrb, value);
    mrb_obj_iv_set_force(mrb, mrb_obj_ptr(self), name, value);
  }
  return mrb_nil_value();
}

/* Module#__name_for_now(name): sets the temporary name, or with nil removes it. */
static mrb_value name_for_now(mrb_state *mrb, mrb_value self)
{
  mrb_value name;
  mrb_get_args(mrb, "o", &name);
  bool temporary = mrb_iv_defined(mrb, self, TEMPORARY);
  if (!temporary && !mrb_nil_p(mrb_class_path(mrb, mrb_class_ptr(self)))) {
    mrb_raise(mrb, E_RUNTIME_ERROR, "can't change permanent name");
  }
  if (temporary) unname(mrb, self);
  if (mrb_nil_p(name)) return self;
  mrb_iv_set(mrb, self, NAME, mrb_obj_freeze(mrb, mrb_str_dup(mrb, name)));
  mrb_iv_set(mrb, self, TEMPORARY, mrb_true_value());
  /* Defined with the first temporary name: until then, setting a constant costs no extra call. */
  mrb_define_method(mrb, mrb->module_class, "const_added", const_added, MRB_ARGS_REQ(1));
  return self;
}

void fg_names_init(mrb_state *mrb)
{
  mrb_define_method(mrb, mrb->module_class, "__name_for_now", name_for_now, MRB_ARGS_REQ(1));
}
