# What patch.rb changes in mruby so that operators of core classes can be redefined: the virtual machine computes them
# itself until somebody does.

OPERATORS_VM = [
  ["  /* need to check if op is overridden */                                   \\\n" \
   "  switch (TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {                  \\\n",
   "  switch (mrb->fg_operators ? 0 : TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) { \\\n"],
  ["      /* need to check if op is overridden */\n      switch (TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\n",
   "      switch (mrb->fg_operators ? 0 : TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\n"],
  ["  /* need to check if op is overridden */                                   \\\n" \
   "  switch (mrb_type(regs[a])) {                                              \\\n",
   "  switch (mrb->fg_operators ? MRB_TT_FALSE : mrb_type(regs[a])) {           \\\n"],
  ["  /* need to check if - is overridden */\\\n  switch (TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\\\n" \
   "  case TYPES2(MRB_TT_INTEGER,MRB_TT_INTEGER):\\\n    result = OP_CMP_BODY(op,mrb_integer,mrb_integer);\\\n",
   "  switch (mrb->fg_operators ? 0 : TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\\\n" \
   "  case TYPES2(MRB_TT_INTEGER,MRB_TT_INTEGER):\\\n    result = OP_CMP_BODY(op,mrb_integer,mrb_integer);\\\n"],
  ["      switch (mrb_type(va)) {\n      case MRB_TT_ARRAY:\n        if (!mrb_integer_p(vb) ||",
   "      switch (mrb->fg_operators ? MRB_TT_FALSE : mrb_type(va)) {\n" \
   "      case MRB_TT_ARRAY:\n        if (!mrb_integer_p(vb) ||"],
  # An object may differ from itself, if its class says so.
  ["      if (mrb_obj_eq(mrb, regs[a], regs[a+1])) {\n        SET_TRUE_VALUE(regs[a]);\n",
   "      if (mrb_obj_eq(mrb, regs[a], regs[a+1]) && fg_equals_itself(mrb, regs[a])) {\n" \
   "        SET_TRUE_VALUE(regs[a]);\n"],
  ["static inline mrb_bool\nfg_ends_in_keywords(mrb_value list)\n{\n",
   "static inline mrb_bool\nfg_equals_itself(mrb_state *mrb, mrb_value v)\n{\n" \
   "  if (mrb->fg_operators) return FALSE;\n" \
   "  if (mrb_immediate_p(v) || mrb_float_p(v)) return TRUE;\n" \
   "  struct RClass *c = mrb_obj_ptr(v)->c;\n" \
   "  return c == mrb->string_class || c == mrb->array_class || c == mrb->hash_class;\n}\n\n" \
   "static inline mrb_bool\nfg_ends_in_keywords(mrb_value list)\n{\n"],
].freeze

OPERATORS = {
  "src/vm.c" => OPERATORS_VM,
  "include/mruby.h" => [
    ["typedef struct mrb_state {\n",
     "typedef struct mrb_state {\n" \
     "  mrb_bool fg_operators;                  /* some operator of a core class is somebody's own */\n" \
     "  mrb_bool fg_armed;                      /* the core classes are complete */\n"],
  ],
  "src/class.c" => [
    ["mrb_define_method_raw(mrb_state *mrb, struct RClass *c, mrb_sym mid, mrb_method_t m)\n{\n",
     "mrb_define_method_raw(mrb_state *mrb, struct RClass *c, mrb_sym mid, mrb_method_t m)\n{\n" \
     "  if (mrb->fg_armed) fg_note_operator(mrb, c, mid);\n"],
    ["mrb_prepend_module(mrb_state *mrb, struct RClass *c, struct RClass *m)\n{\n",
     "mrb_prepend_module(mrb_state *mrb, struct RClass *c, struct RClass *m)\n{\n" \
     "  if (mrb->fg_armed && fg_computed(mrb, c)) mrb->fg_operators = TRUE;\n"],
    ["MRB_API void\nmrb_define_method_raw(mrb_state *mrb, struct RClass *c, mrb_sym mid, mrb_method_t m)\n",
     "static mrb_bool\nfg_computed(mrb_state *mrb, struct RClass *c)\n{\n" \
     "  return c == mrb->integer_class || c == mrb->float_class || c == mrb->string_class || c == mrb->array_class " \
       "||\n" \
     "         c == mrb->hash_class || c == mrb->symbol_class || c == mrb->nil_class || c == mrb->true_class ||\n" \
     "         c == mrb->false_class;\n}\n\n" \
     "/* From here on, operators of core classes may be somebody's own. */\n" \
     "void\nfg_watch_operators(mrb_state *mrb)\n{\n  mrb->fg_armed = TRUE;\n}\n\n" \
     "static void\nfg_note_operator(mrb_state *mrb, struct RClass *c, mrb_sym mid)\n{\n" \
     "  if (mrb->fg_operators || !fg_computed(mrb, c)) return;\n" \
     "  if (mid == MRB_OPSYM(add) || mid == MRB_OPSYM(sub) || mid == MRB_OPSYM(mul) || mid == MRB_OPSYM(div) ||\n" \
     "      mid == MRB_OPSYM(lt) || mid == MRB_OPSYM(le) || mid == MRB_OPSYM(gt) || mid == MRB_OPSYM(ge) ||\n" \
     "      mid == MRB_OPSYM(eq) || mid == MRB_OPSYM(aref)) {\n    mrb->fg_operators = TRUE;\n  }\n}\n\n" \
     "MRB_API void\nmrb_define_method_raw(mrb_state *mrb, struct RClass *c, mrb_sym mid, mrb_method_t m)\n"],
    # A module may give another name to a method that all objects have.
    ["  if (a == b) return;\n  mrb_method_t m = mrb_method_search(mrb, c, b);\n",
     "  if (a == b) return;\n  struct RClass *fg_found = c;\n" \
     "  mrb_method_t m = mrb_method_search_vm(mrb, &fg_found, b);\n" \
     "  if (MRB_METHOD_UNDEF_P(m)) m = mrb_method_search(mrb, c->tt == MRB_TT_MODULE ? mrb->object_class : c, b);\n"],
  ],
}.freeze
