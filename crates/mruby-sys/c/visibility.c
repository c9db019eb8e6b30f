/* Private and protected methods: setting, asking and listing them. Our mruby enforces them (mruby/patches,
 * private-methods): a method's visibility is in the flags of its proc, and a frame records a `private` without
 * arguments. Also define_method and class_eval of text, since both define methods with the visibility of their caller's
 * frame. */
#include "fg.h"

#include <string.h>

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/opcode.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>

#ifndef FG_PROC_PRIVATE
/* For an mruby without our patch: all methods stay public. */
#define FG_PROC_PRIVATE 0
#define FG_PROC_PROTECTED 0
#define FG_PROC_HIDDEN 0
#define NO_VISIBILITY
#endif

/* Declared in mruby/internal.h, which is for mruby's own files. */
void mrb_proc_copy(mrb_state *, struct RProc *, struct RProc *);
void mrb_method_added(mrb_state *, struct RClass *, mrb_sym);
mrb_value mrb_mod_module_eval(mrb_state *, mrb_value);
mrb_value mrb_exec_irep(mrb_state *, mrb_value, struct RProc *);
struct RClass *mrb_vm_ci_target_class(const mrb_callinfo *);
void mrb_vm_ci_target_class_set(mrb_callinfo *, struct RClass *);
uint8_t *fg_visibility(mrb_state *, mrb_callinfo *);

enum { PUBLIC, PRIVATE, PROTECTED, MODULE_FUNCTION };
static const uint32_t flags_of[] = {0, FG_PROC_PRIVATE, FG_PROC_PROTECTED, FG_PROC_PRIVATE};

static int visibility_of(mrb_state *mrb, mrb_sym name, mrb_method_t method)
{
  /* A C function without a proc has no flags; only initialize, initialize_copy and so on are always private. */
  if (!MRB_METHOD_PROC_P(method)) {
    mrb_int length;
    const char *text = mrb_sym_name_len(mrb, name, &length);
    return length > 9 && strncmp(text, "initialize", 10) == 0 ? PRIVATE : PUBLIC;
  }
  uint32_t flags = MRB_METHOD_PROC(method)->flags & FG_PROC_HIDDEN;
  return flags == 0 ? PUBLIC : flags == FG_PROC_PRIVATE ? PRIVATE : PROTECTED;
}

/* A copy of a method's proc: the same proc may belong to other names and classes, whose flags must not change. */
static struct RProc *own_proc(mrb_state *mrb, mrb_method_t method)
{
  if (!MRB_METHOD_PROC_P(method)) {
    struct RProc *proc = mrb_proc_new_cfunc(mrb, MRB_METHOD_FUNC(method));
    if (MRB_METHOD_NOARG_P(method)) proc->flags |= MRB_PROC_NOARG;
    return proc;
  }
  struct RProc *from = MRB_METHOD_PROC(method);
  struct RProc *proc = (struct RProc *)mrb_obj_alloc(mrb, MRB_TT_PROC, mrb->proc_class);
  if (MRB_PROC_ALIAS_P(from)) {
    proc->flags = from->flags;
    proc->body.mid = from->body.mid;
    proc->upper = from->upper;
    proc->e.env = NULL;
  }
  else {
    mrb_proc_copy(mrb, proc, from);
  }
  proc->flags &= ~(uint32_t)MRB_FL_OBJ_IS_FROZEN;
  return proc;
}

/* The method of a name. A module may change the visibility of Object's methods, as in CRuby. */
static mrb_method_t found(mrb_state *mrb, struct RClass *klass, mrb_sym name, struct RClass **owner)
{
  *owner = klass;
  mrb_method_t method = mrb_method_search_vm(mrb, owner, name);
  if (MRB_METHOD_UNDEF_P(method) && klass->tt == MRB_TT_MODULE) {
    *owner = mrb->object_class;
    method = mrb_method_search_vm(mrb, owner, name);
  }
  return method;
}

/* Defines a method with this proc, whose flags are changed: it must be a copy. */
static void define(mrb_state *mrb, struct RClass *klass, mrb_sym name, struct RProc *proc, int visibility)
{
  mrb_method_t method;
  proc->flags = (proc->flags & ~(uint32_t)FG_PROC_HIDDEN) | flags_of[visibility];
  MRB_METHOD_FROM_PROC(method, proc);
  mrb_define_method_raw(mrb, klass, name, method);
}

static void set(mrb_state *mrb, struct RClass *klass, mrb_sym name, int visibility)
{
  struct RClass *owner;
  mrb_method_t method = found(mrb, klass, name, &owner);
  if (MRB_METHOD_UNDEF_P(method)) {
    mrb_name_error(mrb, name, "undefined method '%n' for %s '%C'", name,
                   klass->tt == MRB_TT_MODULE ? "module" : "class", klass);
  }
  int arena = mrb_gc_arena_save(mrb);
  if (visibility == MODULE_FUNCTION) {
    struct RClass *single = mrb_class_ptr(mrb_singleton_class(mrb, mrb_obj_value(klass)));
    define(mrb, single, name, own_proc(mrb, method), PUBLIC);
  }
  if (visibility != visibility_of(mrb, name, method)) define(mrb, klass, name, own_proc(mrb, method), visibility);
  mrb_gc_arena_restore(mrb, arena);
}

static void set_all(mrb_state *mrb, struct RClass *klass, const mrb_value *names, mrb_int count, int visibility)
{
  for (mrb_int i = 0; i < count; i++) {
    if (!mrb_array_p(names[i])) {
      set(mrb, klass, mrb_obj_to_sym(mrb, names[i]), visibility);
      continue;
    }
    for (mrb_int j = 0; j < RARRAY_LEN(names[i]); j++) {
      set(mrb, klass, mrb_obj_to_sym(mrb, RARRAY_PTR(names[i])[j]), visibility);
    }
  }
}

/* public, private and so on. Without names, sets the visibility of the methods that the caller's frame defines from now
 * on; bit 2 of its byte belongs to the patch `frames`. */
static mrb_value change(mrb_state *mrb, struct RClass *klass, int visibility)
{
  const mrb_value *names;
  mrb_int count;
  /* A copy: the conversion of a name runs Ruby code, which moves the stack. */
  mrb_get_args(mrb, "*", &names, &count);
  if (count == 0) {
#ifndef NO_VISIBILITY
    if (mrb->c->ci > mrb->c->cibase) {
      uint8_t *said = fg_visibility(mrb, mrb->c->ci - 1);
      *said = (uint8_t)((*said & 4) | visibility);
    }
#endif
    return mrb_nil_value();
  }
  mrb_value given = count == 1 ? names[0] : mrb_ary_new_from_values(mrb, count, names);
  set_all(mrb, klass, names, count, visibility);
  return given;
}

static mrb_value mod_public(mrb_state *mrb, mrb_value self) { return change(mrb, mrb_class_ptr(self), PUBLIC); }
static mrb_value mod_private(mrb_state *mrb, mrb_value self) { return change(mrb, mrb_class_ptr(self), PRIVATE); }
static mrb_value mod_protected(mrb_state *mrb, mrb_value self) { return change(mrb, mrb_class_ptr(self), PROTECTED); }
static mrb_value mod_function(mrb_state *mrb, mrb_value self)
{
  mrb_check_type(mrb, self, MRB_TT_MODULE);
  return change(mrb, mrb_class_ptr(self), MODULE_FUNCTION);
}
static mrb_value top_public(mrb_state *mrb, mrb_value self)
{
  (void)self;
  return change(mrb, mrb->object_class, PUBLIC);
}
static mrb_value top_private(mrb_state *mrb, mrb_value self)
{
  (void)self;
  return change(mrb, mrb->object_class, PRIVATE);
}

static mrb_value class_method(mrb_state *mrb, mrb_value self, int visibility)
{
  const mrb_value *names;
  mrb_int count;
  mrb_get_args(mrb, "*", &names, &count);
  set_all(mrb, mrb_class_ptr(mrb_singleton_class(mrb, self)), names, count, visibility);
  return mrb_nil_value();
}

static mrb_value private_class_method(mrb_state *mrb, mrb_value self) { return class_method(mrb, self, PRIVATE); }
static mrb_value public_class_method(mrb_state *mrb, mrb_value self) { return class_method(mrb, self, PUBLIC); }

/* --- asking ------------------------------------------------------------------------------------------------------- */

/* FoolsGold.visibility(class, name): :public, :private, :protected, or nil where there is no such method. */
static mrb_value visibility(mrb_state *mrb, mrb_value self)
{
  static const char *const names[] = {"public", "private", "protected"};
  mrb_value klass;
  mrb_sym name;
  mrb_bool inherited = TRUE;
  (void)self;
  mrb_get_args(mrb, "Cn|b", &klass, &name, &inherited);
  struct RClass *owner = mrb_class_ptr(klass);
  mrb_method_t method = mrb_method_search_vm(mrb, &owner, name);
  if (MRB_METHOD_UNDEF_P(method)) return mrb_nil_value();
  while (owner->tt == MRB_TT_ICLASS) owner = owner->c;
  if (!inherited && owner != mrb_class_ptr(klass)) return mrb_nil_value();
  return mrb_symbol_value(mrb_intern_cstr(mrb, names[visibility_of(mrb, name, method)]));
}

/* FoolsGold.visible?(object, name): whether there is a public method. */
static mrb_value visible(mrb_state *mrb, mrb_value self)
{
  mrb_value object;
  mrb_sym name;
  (void)self;
  mrb_get_args(mrb, "on", &object, &name);
  struct RClass *owner = mrb_class(mrb, object);
  mrb_method_t method = mrb_method_search_vm(mrb, &owner, name);
  return mrb_bool_value(!MRB_METHOD_UNDEF_P(method) && visibility_of(mrb, name, method) == PUBLIC);
}

/* Whether `self` may call this protected method of the object. */
bool fg_is_shared(mrb_state *mrb, mrb_value object, mrb_sym name, mrb_value self)
{
  struct RClass *owner = mrb_class(mrb, object);
  mrb_method_t method = mrb_method_search_vm(mrb, &owner, name);
  if (MRB_METHOD_UNDEF_P(method) || visibility_of(mrb, name, method) != PROTECTED) return false;
  return mrb_obj_is_kind_of(mrb, self, owner);
}

/* FoolsGold.named_only, in method_missing: whether the call was a mere name, without arguments or parentheses. The
 * compiler marks such calls by a no-op instruction (mruby/patches, rescue). */
static mrb_value named_only(mrb_state *mrb, mrb_value self)
{
  const mrb_callinfo *ci = mrb->c->ci - 2;
  (void)self;
  /* Two frames up: method_missing has called this, and the frame above it made the call. */
  if (ci < mrb->c->cibase || !ci->proc || MRB_PROC_CFUNC_P(ci->proc) || !ci->pc) return mrb_false_value();
  return mrb_bool_value(*ci->pc == OP_NOP);
}

/* FoolsGold.hidden(object, name): :private or :protected for such a method, else nil. */
static mrb_value hidden(mrb_state *mrb, mrb_value self)
{
  mrb_value object;
  mrb_sym name;
  (void)self;
  mrb_get_args(mrb, "on", &object, &name);
  struct RClass *owner = mrb_class(mrb, object);
  mrb_method_t method = mrb_method_search_vm(mrb, &owner, name);
  if (MRB_METHOD_UNDEF_P(method) || visibility_of(mrb, name, method) == PUBLIC) return mrb_nil_value();
  bool private = visibility_of(mrb, name, method) == PRIVATE;
  return mrb_symbol_value(mrb_intern_cstr(mrb, private ? "private" : "protected"));
}

/* Methods found so far. `seen` has those of all visibilities: a method hides the same name further up, also where it is
 * undefined or private. */
struct listing { mrb_value seen, names; mrb_int wanted; };

static int list_one(mrb_state *mrb, mrb_sym name, mrb_method_t method, void *data)
{
  struct listing *listing = data;
  mrb_value key = mrb_symbol_value(name);
  if (mrb_hash_key_p(mrb, listing->seen, key)) return 0;
  mrb_hash_set(mrb, listing->seen, key, mrb_true_value());
  if (MRB_METHOD_UNDEF_P(method)) return 0;
  if (listing->wanted & (1 << visibility_of(mrb, name, method))) mrb_ary_push(mrb, listing->names, key);
  return 0;
}

/* FoolsGold.method_names(class, wanted, inherited): the names of methods. `wanted` is 1 for public, 2 for private, 4
 * for protected, added up. */
static mrb_value method_names(mrb_state *mrb, mrb_value self)
{
  mrb_value module;
  mrb_bool inherited;
  struct listing listing = {mrb_hash_new(mrb), mrb_ary_new(mrb), 0};
  (void)self;
  mrb_get_args(mrb, "Cib", &module, &listing.wanted, &inherited);
  struct RClass *klass = mrb_class_ptr(module);
  if (!inherited) {
    MRB_CLASS_ORIGIN(klass);
    mrb_mt_foreach(mrb, klass, list_one, &listing);
    return listing.names;
  }
  for (; klass; klass = klass->super) mrb_mt_foreach(mrb, klass, list_one, &listing);
  return listing.names;
}

/* FoolsGold.singleton_names(object, inherited): the public and protected methods of the object's singleton class, and
 * with `inherited` those of its modules and of the singleton classes above. */
static mrb_value singleton_names(mrb_state *mrb, mrb_value self)
{
  mrb_value object;
  mrb_bool inherited;
  struct listing listing = {mrb_hash_new(mrb), mrb_ary_new(mrb), 5};
  (void)self;
  mrb_get_args(mrb, "ob", &object, &inherited);
  struct RClass *klass = mrb_class(mrb, object);
  if (!inherited && klass->tt == MRB_TT_SCLASS) {
    MRB_CLASS_ORIGIN(klass);
    mrb_mt_foreach(mrb, klass, list_one, &listing);
    return listing.names;
  }
  for (; inherited && klass && (klass->tt == MRB_TT_SCLASS || klass->tt == MRB_TT_ICLASS); klass = klass->super) {
    mrb_mt_foreach(mrb, klass, list_one, &listing);
  }
  return listing.names;
}

/* --- defining ----------------------------------------------------------------------------------------------------- */

/* Raises where a method of another class would become one of `klass`: written in C, it takes its receiver for one of
 * its own class. Those of modules are for any class. */
static void check_owner(mrb_state *mrb, struct RClass *klass, mrb_value owner)
{
  if (mrb_type(owner) != MRB_TT_CLASS && mrb_type(owner) != MRB_TT_SCLASS) return;
  for (struct RClass *above = klass; above; above = above->super) if (above == mrb_class_ptr(owner)) return;
  if (mrb_type(owner) == MRB_TT_SCLASS) {
    mrb_raise(mrb, E_TYPE_ERROR, "can't bind singleton method to a different class");
  }
  mrb_raisef(mrb, E_TYPE_ERROR, "bind argument must be a subclass of %v", owner);
}

static mrb_value define_method_in(mrb_state *mrb, struct RClass *klass)
{
  mrb_sym name;
  mrb_value body = mrb_undef_value(), block;
  struct RProc *proc;
  mrb_get_args(mrb, "n|o&", &name, &body, &block);
  if (mrb_undef_p(body)) body = block;
  if (mrb_nil_p(body)) mrb_raise(mrb, E_ARGUMENT_ERROR, "tried to create Proc object without a block");
  mrb_sym held = mrb_intern_lit(mrb, "_proc");
  bool method = !mrb_proc_p(body) && mrb_type(body) == MRB_TT_OBJECT && mrb_iv_defined(mrb, body, held);
  if (method) {
    check_owner(mrb, klass, mrb_iv_get(mrb, body, mrb_intern_lit(mrb, "_owner")));
    body = mrb_iv_get(mrb, body, held);
  }
  if (!mrb_proc_p(body)) {
    mrb_raisef(mrb, E_TYPE_ERROR, "wrong argument type %T (expected Proc/Method/UnboundMethod)", body);
  }
  mrb_method_t from;
  MRB_METHOD_FROM_PROC(from, mrb_proc_ptr(body));
  proc = own_proc(mrb, from);
#ifdef FG_PROC_METHOD
  if (!method) proc->flags |= FG_PROC_METHOD;
#endif
  /* A block that becomes a method checks the number of its arguments, like a lambda. */
  if (!method) proc->flags |= MRB_PROC_STRICT;
  int visibility = PUBLIC;
#ifndef NO_VISIBILITY
  mrb_callinfo *caller = mrb->c->ci - 1;
  if (caller >= mrb->c->cibase && mrb_vm_ci_target_class(caller) == klass) visibility = *fg_visibility(mrb, caller) & 3;
#endif
  define(mrb, klass, name, proc, visibility == MODULE_FUNCTION ? PUBLIC : visibility);
  if (visibility == MODULE_FUNCTION) set(mrb, klass, name, MODULE_FUNCTION);
  mrb_method_added(mrb, klass, name);
  return mrb_symbol_value(name);
}

/* Module#attr_accessor. mruby's own is written in Ruby, so that the visibility would be looked up in its frame. */
static mrb_value attr_accessor(mrb_state *mrb, mrb_value self)
{
  const mrb_value *given;
  mrb_int count;
  int visibility = PUBLIC;
  mrb_get_args(mrb, "*", &given, &count);
  mrb_value names = mrb_ary_new_from_values(mrb, count, given), made = mrb_ary_new(mrb);
#ifndef NO_VISIBILITY
  mrb_callinfo *caller = mrb->c->ci - 1;
  if (mrb_vm_ci_target_class(caller) == mrb_class_ptr(self)) visibility = *fg_visibility(mrb, caller) & 3;
#endif
  for (mrb_int i = 0; i < count; i++) {
    mrb_value name = RARRAY_PTR(names)[i];
    mrb_value reader = mrb_funcall(mrb, self, "attr_reader", 1, name);
    mrb_value writer = mrb_funcall(mrb, self, "attr_writer", 1, name);
    if (!mrb_array_p(reader) || !mrb_array_p(writer)) continue;
    mrb_ary_concat(mrb, made, reader);
    mrb_ary_concat(mrb, made, writer);
  }
  if (visibility != PUBLIC) set_all(mrb, mrb_class_ptr(self), &made, 1, visibility);
  return made;
}

static mrb_value mod_define_method(mrb_state *mrb, mrb_value self)
{
  return define_method_in(mrb, mrb_class_ptr(self));
}

static mrb_value define_singleton_method(mrb_state *mrb, mrb_value self)
{
  return define_method_in(mrb, mrb_class_ptr(mrb_singleton_class(mrb, self)));
}

static mrb_value top_define_method(mrb_state *mrb, mrb_value self)
{
  (void)self;
  return define_method_in(mrb, mrb->object_class);
}

/* The class in whose body the caller runs, for __alias_method__(new, old) and __undef_method__(*names): the parser
 * makes these calls of `alias` and `undef` with `:"#{}"`. */
static struct RClass *class_of_caller(mrb_state *mrb)
{
  const mrb_callinfo *caller = mrb->c->ci - 1;
  struct RClass *klass = caller >= mrb->c->cibase ? mrb_vm_ci_target_class(caller) : NULL;
  if (klass == NULL) mrb_raise(mrb, E_TYPE_ERROR, "no class/module to add method");
  return klass;
}

static mrb_value alias_made(mrb_state *mrb, mrb_value self)
{
  mrb_sym name, old;
  (void)self;
  mrb_get_args(mrb, "nn", &name, &old);
  struct RClass *klass = class_of_caller(mrb);
  mrb_alias_method(mrb, klass, name, old);
  mrb_method_added(mrb, klass, name);
  return mrb_nil_value();
}

static mrb_value undef_made(mrb_state *mrb, mrb_value self)
{
  const mrb_value *names;
  mrb_int count;
  (void)self;
  mrb_get_args(mrb, "*", &names, &count);
  struct RClass *klass = class_of_caller(mrb);
  mrb_value list = mrb_ary_new_from_values(mrb, count, names);
  for (mrb_int i = 0; i < count; i++) mrb_undef_method_id(mrb, klass, mrb_obj_to_sym(mrb, RARRAY_PTR(list)[i]));
  return mrb_nil_value();
}

/* Module#class_eval(text, file, line). mruby's own would change the class of the frame that calls it. Constants are
 * looked up from the caller; its local variables are not visible. */
static mrb_value module_eval(mrb_state *mrb, mrb_value self)
{
  mrb_value text, name = mrb_nil_value();
  mrb_int line = 1;
  if (mrb_block_given_p(mrb)) return mrb_mod_module_eval(mrb, self);
  mrb_get_args(mrb, "S|Si", &text, &name, &line);
  const char *named = mrb_nil_p(name) ? "(eval)" : RSTRING_CSTR(mrb, name);
  struct RProc *proc = fg_compile(mrb, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), named, line);
  mrb_callinfo *ci = mrb->c->ci;
  const struct RProc *scope = ci[-1].proc;
  if (scope && !MRB_PROC_CFUNC_P(scope)) {
    proc->upper = scope;
    mrb_field_write_barrier(mrb, (struct RBasic *)proc, (struct RBasic *)scope);
  }
  proc->flags |= MRB_PROC_SCOPE;
  MRB_PROC_SET_TARGET_CLASS(proc, mrb_class_ptr(self));
  mrb_vm_ci_target_class_set(ci, mrb_class_ptr(self));
  ci->n = 0;
  ci->nk = 0;
  ci->stack[1] = mrb_nil_value();
  return mrb_exec_irep(mrb, self, proc);
}

/* FoolsGold.thaw(copy): unfreezes an object. Only for a new copy that no other code holds yet. */
static mrb_value thaw(mrb_state *mrb, mrb_value self)
{
  mrb_value copy;
  (void)self;
  mrb_get_args(mrb, "o", &copy);
  if (!mrb_immediate_p(copy)) mrb_basic_ptr(copy)->flags &= ~MRB_FL_OBJ_IS_FROZEN;
  return copy;
}

void fg_visibility_init(mrb_state *mrb)
{
  struct RClass *module = mrb->module_class, *own = mrb_module_get(mrb, "FoolsGold");
  mrb_value top = mrb_top_self(mrb);
  mrb_define_method(mrb, module, "public", mod_public, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "private", mod_private, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "protected", mod_protected, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "module_function", mod_function, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "private_class_method", private_class_method, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "public_class_method", public_class_method, MRB_ARGS_ANY());
  mrb_define_method(mrb, module, "define_method", mod_define_method, MRB_ARGS_ARG(1, 1) | MRB_ARGS_BLOCK());
  mrb_define_method(mrb, module, "class_eval", module_eval, MRB_ARGS_OPT(3) | MRB_ARGS_BLOCK());
  mrb_define_method(mrb, module, "module_eval", module_eval, MRB_ARGS_OPT(3) | MRB_ARGS_BLOCK());
  mrb_define_method(mrb, mrb->kernel_module, "define_singleton_method", define_singleton_method,
                    MRB_ARGS_ARG(1, 1) | MRB_ARGS_BLOCK());
  mrb_define_singleton_method(mrb, mrb_obj_ptr(top), "public", top_public, MRB_ARGS_ANY());
  mrb_define_singleton_method(mrb, mrb_obj_ptr(top), "private", top_private, MRB_ARGS_ANY());
  mrb_define_singleton_method(mrb, mrb_obj_ptr(top), "define_method", top_define_method, MRB_ARGS_ARG(1, 1));
  mrb_define_module_function(mrb, own, "thaw", thaw, MRB_ARGS_REQ(1));
  mrb_define_method(mrb, mrb_class_get(mrb, "BasicObject"), "__alias_method__", alias_made, MRB_ARGS_REQ(2));
  mrb_define_method(mrb, mrb_class_get(mrb, "BasicObject"), "__undef_method__", undef_made, MRB_ARGS_ANY());
  mrb_define_module_function(mrb, own, "visibility", visibility, MRB_ARGS_ARG(2, 1));
  mrb_define_module_function(mrb, own, "visible?", visible, MRB_ARGS_REQ(2));
  mrb_define_module_function(mrb, own, "hidden", hidden, MRB_ARGS_REQ(2));
  mrb_define_module_function(mrb, own, "named_only", named_only, MRB_ARGS_NONE());
  mrb_define_method(mrb, module, "attr_accessor", attr_accessor, MRB_ARGS_ANY());
  mrb_define_module_function(mrb, own, "method_names", method_names, MRB_ARGS_REQ(3));
  mrb_define_module_function(mrb, own, "singleton_names", singleton_names, MRB_ARGS_REQ(2));
}
