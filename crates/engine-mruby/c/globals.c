/* `alias $new $old`: further names of global variables. The lexer turns it into a call of `__alias_global__`
 * (mruby/patch_constants.rb); each read or write of a global variable looks up here which variable a name means. */
#include "fg.h"

#include <stdlib.h>

#include <mruby/error.h>
#include <mruby/variable.h>

/* The global variable that a name means: the one it is an alias of, else the one of that name. */
mrb_sym fg_global_name(const fg_vm *vm, mrb_sym name)
{
  for (size_t i = 0; i < vm->alias_count; i++) {
    if (vm->aliases[i].name == name) return vm->aliases[i].means;
  }
  return name;
}

static mrb_value alias_global(mrb_state *mrb, mrb_value self)
{
  mrb_sym name, means;
  fg_vm *vm = fg_of(mrb);
  (void)self;
  mrb_get_args(mrb, "nn", &name, &means);
  means = fg_global_name(vm, means);
  if (name == means) return mrb_nil_value();
  for (size_t i = 0; i < vm->alias_count; i++) {
    if (vm->aliases[i].name != name) continue;
    vm->aliases[i].means = means;
    return mrb_nil_value();
  }
  vm->aliases = mrb_realloc(mrb, vm->aliases, (vm->alias_count + 1) * sizeof *vm->aliases);
  vm->aliases[vm->alias_count++] = (struct fg_alias){name, means};
  return mrb_nil_value();
}

void fg_globals_init(mrb_state *mrb)
{
  struct RClass *basic = mrb_class_get(mrb, "BasicObject");
  mrb_define_method(mrb, basic, "__alias_global__", alias_global, MRB_ARGS_REQ(2));
}

void fg_globals_close(fg_vm *vm)
{
  mrb_free(vm->mrb, vm->aliases);
}
