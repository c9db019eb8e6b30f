/* Module#dup, clone and prepend_features. Where modules are prepended, mruby keeps the methods and constants
 * of a class in another one behind those modules, and its own copies share that one with the original. */
#include "fg.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/variable.h>

/* A class whose prepended modules are set aside, and how it is copied. */
struct copying {
  mrb_value original;
  mrb_value (*copy)(mrb_state *, mrb_value);
};

static mrb_value copy_plain(mrb_state *mrb, void *data)
{
  struct copying *copying = data;
  return copying->copy(mrb, copying->original);
}

/* The modules that are prepended, outermost first; sets `origin` to the class behind them. All of them are kept alive
 * for the caller, who takes them out of the chain of classes. */
static mrb_value prepended(mrb_state *mrb, struct RClass *klass, struct RClass **origin)
{
  mrb_value modules = mrb_ary_new(mrb);
  struct RClass *at = klass->super;
  for (; at != NULL && !(at->flags & MRB_FL_CLASS_IS_ORIGIN); at = at->super) {
    mrb_gc_protect(mrb, mrb_obj_value(at));
    mrb_ary_push(mrb, modules, mrb_obj_value(at->c));
  }
  if (at != NULL) mrb_gc_protect(mrb, mrb_obj_value(at));
  *origin = at;
  return modules;
}

/* Copies a class as if nothing was prepended to it, then prepends the same modules to the copy. */
static mrb_value copy(mrb_state *mrb, mrb_value self, mrb_value (*plain)(mrb_state *, mrb_value))
{
  struct RClass *klass = mrb_class_ptr(self), *origin = NULL;
  if (!(klass->flags & MRB_FL_CLASS_IS_PREPENDED)) return plain(mrb, self);
  int arena = mrb_gc_arena_save(mrb);
  mrb_value modules = prepended(mrb, klass, &origin);
  if (origin == NULL) return plain(mrb, self);
  struct RClass *first = klass->super;
  struct mt_tbl *methods = klass->mt;
  struct copying copying = { self, plain };
  klass->super = origin->super;
  klass->mt = origin->mt;
  klass->flags &= ~MRB_FL_CLASS_IS_PREPENDED;
  mrb_bool failed = FALSE;
  mrb_value made = mrb_protect_error(mrb, copy_plain, &copying, &failed);
  klass->flags |= MRB_FL_CLASS_IS_PREPENDED;
  klass->mt = methods;
  klass->super = first;
  mrb_write_barrier(mrb, (struct RBasic *)klass);
  mrb_mc_clear_by_class(mrb, klass);
  if (failed) mrb_exc_raise(mrb, made);
  struct RClass *fresh = mrb_class_ptr(made);
  uint32_t frozen = fresh->flags & MRB_FL_OBJ_IS_FROZEN;
  fresh->flags &= ~MRB_FL_OBJ_IS_FROZEN;
  for (mrb_int i = RARRAY_LEN(modules); i > 0; i--) {
    mrb_prepend_module(mrb, fresh, mrb_class_ptr(mrb_ary_entry(modules, i - 1)));
  }
  fresh->flags |= frozen;
  mrb_gc_arena_restore(mrb, arena);
  mrb_gc_protect(mrb, made);
  return made;
}

static mrb_value module_clone(mrb_state *mrb, mrb_value self) { return copy(mrb, self, mrb_obj_clone); }

/* The copy of a class has its singleton methods, but is not frozen. */
static mrb_value module_dup(mrb_state *mrb, mrb_value self)
{
  mrb_value made = module_clone(mrb, self);
  mrb_class_ptr(made)->flags &= ~MRB_FL_OBJ_IS_FROZEN;
  return made;
}

/* Module#prepend_features. The class and the one behind the modules share a table of constants, which is where they are
 * looked for: a class without any gets an empty one now, for those that are defined later. */
static mrb_value prepend_features(mrb_state *mrb, mrb_value self)
{
  struct RClass *klass;
  mrb_get_args(mrb, "c", &klass);
  mrb_check_frozen(mrb, klass);
  if (klass->iv == NULL) {
    mrb_sym name = mrb_intern_lit(mrb, "__prepended__");
    mrb_iv_set(mrb, mrb_obj_value(klass), name, mrb_nil_value());
    mrb_iv_remove(mrb, mrb_obj_value(klass), name);
  }
  mrb_prepend_module(mrb, klass, mrb_class_ptr(self));
  return self;
}

void fg_copies_init(mrb_state *mrb)
{
  mrb_define_method(mrb, mrb->module_class, "dup", module_dup, MRB_ARGS_NONE());
  /* Kernel#clone, which is Ruby, calls this one. */
  mrb_define_method(mrb, mrb->module_class, "__clone", module_clone, MRB_ARGS_NONE());
  mrb_define_method(mrb, mrb->module_class, "prepend_features", prepend_features, MRB_ARGS_REQ(1));
}
