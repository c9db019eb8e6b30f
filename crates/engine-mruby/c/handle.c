/* Handles: what Ruby holds of a thing that Rust keeps for it, such as an open file or a database. When the garbage
 * collector finds that nobody holds a handle any more, Rust lets go of the thing. */
#include "fg.h"

#include <mruby/class.h>
#include <mruby/data.h>

static void release(mrb_state *mrb, void *number)
{
  if (number != NULL) fg_host_release(fg_of(mrb)->host, (uint64_t)(uintptr_t)number);
}

static const mrb_data_type handle_type = {"FoolsGold::Handle", release};

mrb_value fg_handle_new(mrb_state *mrb, int64_t number)
{
  struct RClass *klass = mrb_class_get_under(mrb, mrb_module_get(mrb, "FoolsGold"), "Handle");
  struct RData *data = mrb_data_object_alloc(mrb, klass, NULL, &handle_type);
  data->data = (void *)(uintptr_t)number;
  return mrb_obj_value(data);
}

/* 0 for what is no handle, or a copy of one, which holds nothing. */
int64_t fg_handle_number(mrb_value value)
{
  if (mrb_type(value) != MRB_TT_CDATA || DATA_TYPE(value) != &handle_type) return 0;
  return (int64_t)(uintptr_t)DATA_PTR(value);
}

void fg_handle_init(mrb_state *mrb)
{
  struct RClass *klass = mrb_define_class_under(mrb, mrb_module_get(mrb, "FoolsGold"), "Handle", mrb->object_class);
  MRB_SET_INSTANCE_TT(klass, MRB_TT_CDATA);
  mrb_undef_class_method(mrb, klass, "new");
}
