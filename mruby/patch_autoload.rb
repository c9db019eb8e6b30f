# What patch.rb changes in mruby for autoload; the rest of it is in crates/engine-mruby/c/autoload.c.

# A constant that waits for its file is held by an object of one C type. Whoever looks such a constant up has it loaded
# first.
AUTOLOAD_VARIABLE = [
  ["static void\nmod_const_check(mrb_state *mrb, mrb_value mod)\n",
   "int (*fg_on_autoload)(mrb_state*, struct RClass*, mrb_sym, mrb_value);\n\n" \
   "/* The constant as it stands in a class's own table; FALSE where none is, even after its file was loaded. */\n" \
   "static mrb_bool\nfg_const_at(mrb_state *mrb, struct RClass *c, mrb_sym sym, mrb_value *vp)\n{\n" \
   "  if (!iv_get(mrb, c->iv, sym, vp)) return FALSE;\n" \
   "  if (mrb_type(*vp) != MRB_TT_CDATA || !fg_on_autoload || !fg_on_autoload(mrb, c, sym, *vp)) return TRUE;\n" \
   "  return iv_get(mrb, c->iv, sym, vp) != 0;\n}\n\n" \
   "/* Before a class is opened: it may be one that waits for its file. */\n" \
   "void\nfg_const_settle(mrb_state *mrb, mrb_value mod, mrb_sym sym)\n{\n" \
   "  mrb_value v;\n" \
   "  fg_const_at(mrb, mrb_class_ptr(mod), sym, &v);\n}\n\n" \
   "static void\nmod_const_check(mrb_state *mrb, mrb_value mod)\n"],
  ["c->iv && iv_get(mrb, c->iv, sym, &v)) {\n      return v;\n    }\n    c = c->super;\n    if (!skip",
   "c->iv && fg_const_at(mrb, c, sym, &v)) {\n      return v;\n    }\n    c = c->super;\n    if (!skip"],
  ["  if (!c) c = mrb->object_class;\n  if (iv_get(mrb, c->iv, sym, &v)) {\n    return v;\n",
   "  if (!c) c = mrb->object_class;\n  if (fg_const_at(mrb, c, sym, &v)) {\n    return v;\n"],
  ["    if (c2 && iv_get(mrb, c2->iv, sym, &v)) {\n", "    if (c2 && fg_const_at(mrb, c2, sym, &v)) {\n"],
].freeze

AUTOLOAD_CLASS = [
  ["  check_if_class_or_module(mrb, outer);\n  if (mrb_const_defined_at(mrb, outer, id)) {\n" \
   "    mrb_value old = mrb_const_get(mrb, outer, id);\n\n    if (!mrb_module_p(old)) {\n",
   "  check_if_class_or_module(mrb, outer);\n  fg_const_settle(mrb, outer, id);\n" \
   "  if (mrb_const_defined_at(mrb, outer, id)) {\n" \
   "    mrb_value old = mrb_const_get(mrb, outer, id);\n\n    if (!mrb_module_p(old)) {\n"],
  ["  check_if_class_or_module(mrb, outer);\n  if (mrb_const_defined_at(mrb, outer, id)) {\n" \
   "    mrb_value old = mrb_const_get(mrb, outer, id);\n\n    if (!mrb_class_p(old)) {\n",
   "  check_if_class_or_module(mrb, outer);\n  fg_const_settle(mrb, outer, id);\n" \
   "  if (mrb_const_defined_at(mrb, outer, id)) {\n" \
   "    mrb_value old = mrb_const_get(mrb, outer, id);\n\n    if (!mrb_class_p(old)) {\n"],
  ["union mt_ptr {\n", "void fg_const_settle(mrb_state*, mrb_value, mrb_sym);\n\nunion mt_ptr {\n"],
].freeze
