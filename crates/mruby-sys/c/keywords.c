/* Flags of procs and Hashes that our mruby knows (mruby/patches, ruby2-keywords and compare-by-identity), and a
 * question about the caller for methods that return an Enumerator. */
#include "fg.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/proc.h>

/* FoolsGold.called_by?(name): whether the method that asks was called by a method of that name. */
static mrb_value called_by(mrb_state *mrb, mrb_value self)
{
  mrb_sym name;
  (void)self;
  mrb_get_args(mrb, "n", &name);
  /* One frame up is the method that asks, two up its caller. */
  const mrb_callinfo *ci = mrb->c->ci - 2;
  return mrb_bool_value(ci >= mrb->c->cibase && ci->mid == name);
}

#ifdef FG_PROC_KEYWORDS
/* Marks the proc behind aliases: a call finds the flags there. */
static void mark(struct RProc *proc)
{
  while (MRB_PROC_ALIAS_P(proc)) proc = (struct RProc *)proc->upper;
  if (!MRB_PROC_CFUNC_P(proc)) proc->flags |= FG_PROC_KEYWORDS;
}

static mrb_value module_keywords(mrb_state *mrb, mrb_value self)
{
  const mrb_value *names;
  mrb_int count;
  mrb_get_args(mrb, "*", &names, &count);
  for (mrb_int i = 0; i < count; i++) {
    struct RClass *klass = mrb_class_ptr(self);
    mrb_method_t method = mrb_method_search_vm(mrb, &klass, mrb_obj_to_sym(mrb, names[i]));
    if (!MRB_METHOD_UNDEF_P(method) && MRB_METHOD_PROC_P(method)) mark(MRB_METHOD_PROC(method));
  }
  return mrb_nil_value();
}

static mrb_value proc_keywords(mrb_state *mrb, mrb_value self)
{
  (void)mrb;
  mark(mrb_proc_ptr(self));
  return self;
}

static mrb_value has_keywords(mrb_state *mrb, mrb_value self)
{
  mrb_value hash;
  (void)self;
  mrb_get_args(mrb, "H", &hash);
  return mrb_bool_value((mrb_hash_ptr(hash)->flags & FG_HASH_KEYWORDS) != 0);
}

static mrb_value with_keywords(mrb_state *mrb, mrb_value self)
{
  mrb_value hash;
  (void)self;
  mrb_get_args(mrb, "H", &hash);
  hash = mrb_hash_dup(mrb, hash);
  mrb_hash_ptr(hash)->flags |= FG_HASH_KEYWORDS;
  return hash;
}

/* Hash#compare_by_identity. The pairs are inserted anew, since their hashes are others from now on. */
static mrb_value by_identity(mrb_state *mrb, mrb_value self)
{
  mrb_check_frozen(mrb, mrb_hash_ptr(self));
  if (mrb_hash_ptr(self)->flags & FG_HASH_IDENTITY) return self;
  mrb_value before = mrb_hash_dup(mrb, self), keys = mrb_hash_keys(mrb, self);
  mrb_hash_clear(mrb, self);
  mrb_hash_ptr(self)->flags |= FG_HASH_IDENTITY;
  for (mrb_int i = 0; i < RARRAY_LEN(keys); i++) {
    mrb_value key = RARRAY_PTR(keys)[i];
    mrb_hash_set(mrb, self, key, mrb_hash_get(mrb, before, key));
  }
  return self;
}

static mrb_value is_by_identity(mrb_state *mrb, mrb_value self)
{
  (void)mrb;
  return mrb_bool_value((mrb_hash_ptr(self)->flags & FG_HASH_IDENTITY) != 0);
}
#endif

void fg_keywords_init(mrb_state *mrb)
{
  mrb_define_module_function(mrb, mrb_module_get(mrb, "FoolsGold"), "called_by?", called_by, MRB_ARGS_REQ(1));
#ifdef FG_PROC_KEYWORDS
  /* Only with our patch of mruby: libraries check that ruby2_keywords exists before they call it. */
  struct RClass *hash = mrb->hash_class;
  mrb_define_method(mrb, mrb->module_class, "ruby2_keywords", module_keywords, MRB_ARGS_ANY());
  mrb_define_method(mrb, mrb->proc_class, "ruby2_keywords", proc_keywords, MRB_ARGS_NONE());
  mrb_define_class_method(mrb, hash, "ruby2_keywords_hash?", has_keywords, MRB_ARGS_REQ(1));
  mrb_define_class_method(mrb, hash, "ruby2_keywords_hash", with_keywords, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, hash, "compare_by_identity", by_identity, MRB_ARGS_NONE());
  mrb_define_method(mrb, hash, "compare_by_identity?", is_by_identity, MRB_ARGS_NONE());
#endif
}
