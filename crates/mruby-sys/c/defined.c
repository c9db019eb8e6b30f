/* `defined?`: the parser (mruby/patches, defined) makes it a call of `__defined__(kind, name)`, with a block that
 * evaluates the receiver where there is one. Also Module#const_get. */
#include "fg.h"

#include <ctype.h>
#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* Declared in mruby/internal.h, which is for mruby's own files. */
mrb_value mrb_f_global_variables(mrb_state *, mrb_value);
struct RClass *mrb_vm_ci_target_class(const mrb_callinfo *);
mrb_bool mrb_mod_cv_defined(mrb_state *, struct RClass *, mrb_sym);

static mrb_value word(mrb_state *mrb, bool defined, const char *text)
{
  return defined ? mrb_obj_freeze(mrb, mrb_str_new_cstr(mrb, text)) : mrb_nil_value();
}

static mrb_value yield_body(mrb_state *mrb, void *data)
{
  return mrb_yield_argv(mrb, *(mrb_value *)data, 0, NULL);
}

/* Evaluates the receiver; false where that raises a StandardError, since the method or constant behind it is not
 * defined then either. Other exceptions go on. */
static bool receiver(mrb_state *mrb, mrb_value block, mrb_value *out)
{
  mrb_bool failed = FALSE;
  *out = mrb_protect_error(mrb, yield_body, &block, &failed);
  if (failed && !mrb_obj_is_kind_of(mrb, *out, mrb->eStandardError_class)) mrb_exc_raise(mrb, *out);
  if (failed) mrb->exc = NULL;
  return !failed;
}

static bool has_global(mrb_state *mrb, mrb_sym name)
{
  mrb_int length;
  name = fg_global_name(fg_of(mrb), name);
  const char *text = mrb_sym_name_len(mrb, name, &length);
  /* `$!`, `$~` and other special variables have no storage of their own, but always exist. */
  if (length == 2 && !isalnum((unsigned char)text[1]) && text[1] != '_') return true;
  mrb_value names = mrb_f_global_variables(mrb, mrb_nil_value());
  for (mrb_int i = 0; i < RARRAY_LEN(names); i++) {
    if (mrb_symbol(RARRAY_PTR(names)[i]) == name) return true;
  }
  return false;
}

static const struct RProc *caller_proc(mrb_state *mrb)
{
  const struct RProc *proc = mrb->c->ci > mrb->c->cibase ? mrb->c->ci[-1].proc : NULL;
  return proc && !MRB_PROC_CFUNC_P(proc) ? proc : NULL;
}

/* Whether a constant is visible from the caller: in the classes around its text, in what the innermost inherits, or in
 * Object. In a singleton class those of its object count. */
static bool has_constant(mrb_state *mrb, mrb_sym name)
{
  struct RClass *first = NULL;
  for (const struct RProc *proc = caller_proc(mrb); proc; proc = proc->upper) {
    proc = fg_lexical(proc);
    struct RClass *klass = MRB_PROC_TARGET_CLASS(proc);
    if (klass == NULL) continue;
    if (first == NULL) first = klass;
    if (mrb_iv_defined(mrb, mrb_obj_value(klass), name)) return true;
    if (klass->tt != MRB_TT_SCLASS) continue;
    mrb_value attached = mrb_iv_get(mrb, mrb_obj_value(klass), mrb_intern_lit(mrb, "__attached__"));
    if ((mrb_class_p(attached) || mrb_module_p(attached)) && mrb_const_defined(mrb, attached, name)) return true;
  }
  if (first && mrb_const_defined(mrb, mrb_obj_value(first), name)) return true;
  return mrb_const_defined(mrb, mrb_obj_value(mrb->object_class), name);
}

static bool has_class_variable(mrb_state *mrb, mrb_sym name)
{
  for (const struct RProc *proc = caller_proc(mrb); proc; proc = proc->upper) {
    proc = fg_lexical(proc);
    struct RClass *klass = MRB_PROC_TARGET_CLASS(proc);
    if (klass && klass->tt != MRB_TT_SCLASS) return mrb_mod_cv_defined(mrb, klass, name);
  }
  return false;
}

/* Whether a method above the caller's has its name. */
static bool has_super(mrb_state *mrb)
{
  const mrb_callinfo *ci = mrb->c->ci - 1;
  if (ci < mrb->c->cibase || ci->mid == 0) return false;
  struct RClass *klass = mrb_vm_ci_target_class(ci);
  if (klass == NULL || klass->super == NULL) return false;
  klass = klass->super;
  return !MRB_METHOD_UNDEF_P(mrb_method_search_vm(mrb, &klass, ci->mid));
}

static bool answers(mrb_state *mrb, mrb_value object, mrb_sym name)
{
  return mrb_test(mrb_funcall(mrb, object, "respond_to?", 1, mrb_symbol_value(name)));
}

/* Whether a constant belongs to Object alone, where `A::B` does not look. */
static bool is_outer(mrb_state *mrb, mrb_value module, mrb_sym name)
{
  struct RClass *klass = mrb_class_ptr(module);
  if (klass == mrb->object_class) return false;
  for (; klass && klass != mrb->object_class; klass = klass->super) {
    if (mrb_obj_iv_defined(mrb, (struct RObject *)klass, name)) return false;
  }
  return mrb_obj_iv_defined(mrb, (struct RObject *)mrb->object_class, name);
}

static bool is_module(mrb_value object)
{
  enum mrb_vtype type = mrb_type(object);
  return type == MRB_TT_CLASS || type == MRB_TT_MODULE || type == MRB_TT_SCLASS;
}

/* Whether the constant `object::name` exists. */
static bool has_own(mrb_state *mrb, mrb_value object, mrb_sym name)
{
  return is_module(object) && mrb_const_defined(mrb, object, name) && !is_outer(mrb, object, name);
}

static mrb_value path(mrb_state *mrb, mrb_value block, mrb_sym name)
{
  mrb_value object;
  if (!receiver(mrb, block, &object)) return mrb_nil_value();
  if (has_own(mrb, object, name)) return word(mrb, true, "constant");
  return word(mrb, answers(mrb, object, name), "method");
}

static mrb_value defined(mrb_state *mrb, mrb_value self)
{
  mrb_sym kind, name;
  mrb_value block, object = mrb_nil_value();
  mrb_get_args(mrb, "nn|o&", &kind, &name, &object, &block);
  mrb_int length;
  switch (mrb_sym_name_len(mrb, kind, &length)[0]) {
  case 'i': return word(mrb, mrb_iv_defined(mrb, self, name), "instance-variable");
  case 'g': return word(mrb, has_global(mrb, name), "global-variable");
  /* `$&`, `$1` and so on are defined only where they have a value. */
  case 'n': return word(mrb, !mrb_nil_p(mrb_gv_get(mrb, name)), "global-variable");
  case 'v': return word(mrb, has_class_variable(mrb, name), "class variable");
  case 'c': return word(mrb, has_constant(mrb, name), "constant");
  case 't': return word(mrb, mrb_const_defined(mrb, mrb_obj_value(mrb->object_class), name), "constant");
  case 'p': return path(mrb, block, name);
  case 'q': return word(mrb, has_own(mrb, object, name), "constant");
  case 's': return word(mrb, has_super(mrb), "super");
  case 'm': return word(mrb, mrb_respond_to(mrb, self, name), "method");
  default:
    if (!receiver(mrb, block, &object)) return mrb_nil_value();
    return word(mrb, answers(mrb, object, name) || fg_is_shared(mrb, object, name, self), "method");
  }
}

/* A constant of a class or module, of its ancestors, or of Object. Without `inherited`, const_missing is called where
 * the module itself has none. */
static mrb_value constant(mrb_state *mrb, mrb_value module, mrb_sym name, bool inherited)
{
  for (struct RClass *klass = mrb_class_ptr(module); klass; klass = klass->super) {
    if (klass == mrb->object_class) break;
    if (mrb_obj_iv_defined(mrb, (struct RObject *)klass, name)) return mrb_const_get(mrb, module, name);
    if (!inherited) return mrb_funcall(mrb, module, "const_missing", 1, mrb_symbol_value(name));
  }
  mrb_value object = mrb_obj_value(mrb->object_class);
  if (mrb_const_defined(mrb, object, name)) return mrb_const_get(mrb, object, name);
  return mrb_const_get(mrb, module, name);
}

/* Module#const_get(name, inherit = true); the name may be a path, such as "A::B". */
static mrb_value const_get(mrb_state *mrb, mrb_value self)
{
  mrb_value path;
  mrb_bool inherited = TRUE;
  mrb_get_args(mrb, "o|b", &path, &inherited);
  if (mrb_symbol_p(path)) return constant(mrb, self, mrb_symbol(path), inherited);
  path = mrb_ensure_string_type(mrb, fg_stands_for(mrb, path, MRB_TT_STRING, "to_str"));
  /* A copy: an autoload or const_missing may change the String. */
  path = mrb_str_dup(mrb, path);
  const char *at = RSTRING_PTR(path), *end = at + RSTRING_LEN(path);
  if (end - at > 2 && at[0] == ':' && at[1] == ':') at += 2;
  do {
    const char *colon = memchr(at, ':', (size_t)(end - at));
    size_t length = colon ? (size_t)(colon - at) : (size_t)(end - at);
    bool cut = colon && (end - colon < 3 || colon[1] != ':');
    if (cut || length == 0 || !isupper((unsigned char)at[0])) {
      mrb_raisef(mrb, E_NAME_ERROR, "wrong constant name %v", path);
    }
    if (!is_module(self)) mrb_raisef(mrb, E_TYPE_ERROR, "%v does not refer to class/module", path);
    self = constant(mrb, self, mrb_intern(mrb, at, length), inherited);
    at += length + (colon ? 2 : 0);
  } while (at < end);
  return self;
}

void fg_defined_init(mrb_state *mrb)
{
  mrb_define_method(mrb, mrb->module_class, "const_get", const_get, MRB_ARGS_ARG(1, 1));
  struct RClass *basic = mrb_class_get(mrb, "BasicObject");
  mrb_define_method(mrb, basic, "__defined__", defined, MRB_ARGS_REQ(2) | MRB_ARGS_BLOCK());
}
