/* autoload: a constant whose file is not loaded yet has an object of the type below as its value, which holds the path.
 * When the constant is looked up, our mruby (mruby/patches, autoload) calls on_autoload, which requires the file, and
 * then repeats the lookup. */
#include "fg.h"

#include <string.h>

#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/string.h>
#include <mruby/variable.h>

extern int (*fg_on_autoload)(mrb_state *, struct RClass *, mrb_sym, mrb_value) __attribute__((weak));

static const mrb_data_type waiting_type = {"FoolsGold::Waiting", mrb_free};

static bool is_waiting(mrb_value value)
{
  return mrb_type(value) == MRB_TT_CDATA && DATA_TYPE(value) == &waiting_type;
}

static mrb_value require_body(mrb_state *mrb, void *data)
{
  mrb_value module = mrb_obj_value(mrb_module_get(mrb, "FoolsGold"));
  return mrb_funcall(mrb, module, "autoloaded", 1, mrb_str_new_cstr(mrb, data));
}

/* Loads the file of a constant; 0 where `value` is no such object. While the file runs, the constant is not defined, as
 * in CRuby; if the file raises, the constant waits again. The object is protected meanwhile, since its path is in use.
 * */
static int on_autoload(mrb_state *mrb, struct RClass *klass, mrb_sym name, mrb_value value)
{
  if (!is_waiting(value)) return 0;
  mrb_value module = mrb_obj_value(klass);
  mrb_bool failed = FALSE;
  mrb_gc_protect(mrb, value);
  mrb_iv_remove(mrb, module, name);
  mrb_value result = mrb_protect_error(mrb, require_body, DATA_PTR(value), &failed);
  if (!failed) {
    /* The file may have registered an autoload of its own for this constant. */
    if (mrb_iv_defined(mrb, module, name)) on_autoload(mrb, klass, name, mrb_iv_get(mrb, module, name));
    return 1;
  }
  /* Also where the file has defined it by then, perhaps in part: the next lookup loads all of the file. */
  mrb_iv_set(mrb, module, name, value);
  mrb_exc_raise(mrb, result);
  return 1;
}

/* FoolsGold.wait_for(module, name, path): registers a file for a constant, unless the constant is defined. */
static mrb_value wait_for(mrb_state *mrb, mrb_value self)
{
  mrb_value module;
  mrb_sym name;
  const char *path;
  (void)self;
  mrb_get_args(mrb, "Cnz", &module, &name, &path);
  if (mrb_iv_defined(mrb, module, name)) {
    if (!is_waiting(mrb_iv_get(mrb, module, name))) return mrb_nil_value();
  }
  if (!&fg_on_autoload) mrb_raise(mrb, E_NOTIMP_ERROR, "autoload needs an mruby that was built by bin/setup");
  size_t size = strlen(path) + 1;
  struct RData *data = mrb_data_object_alloc(mrb, mrb->object_class, NULL, &waiting_type);
  data->data = mrb_malloc(mrb, size);
  memcpy(data->data, path, size);
  mrb_iv_set(mrb, module, name, mrb_obj_value(data));
  return mrb_nil_value();
}

/* FoolsGold.waits_for(module, name): the path registered for a constant, or nil. */
static mrb_value waits_for(mrb_state *mrb, mrb_value self)
{
  mrb_value module;
  mrb_sym name;
  (void)self;
  mrb_get_args(mrb, "Cn", &module, &name);
  mrb_value value = mrb_iv_get(mrb, module, name);
  return is_waiting(value) ? mrb_str_new_cstr(mrb, DATA_PTR(value)) : mrb_nil_value();
}

void fg_autoload_init(mrb_state *mrb)
{
  struct RClass *module = mrb_module_get(mrb, "FoolsGold");
  mrb_define_module_function(mrb, module, "wait_for", wait_for, MRB_ARGS_REQ(3));
  mrb_define_module_function(mrb, module, "waits_for", waits_for, MRB_ARGS_REQ(2));
  if (&fg_on_autoload) fg_on_autoload = on_autoload;
}
