# What patch.rb changes in mruby so that files of Ruby's own library run as they are, and take little memory.

LIBRARY = {
  # The hooks are private methods in many classes.
  "mrblib/00class.rb" => [
    ["      m.append_features(self)\n      m.included(self)\n",
     "      m.__send__(:append_features, self)\n      m.__send__(:included, self)\n"],
    ["      m.prepend_features(self)\n      m.prepended(self)\n",
     "      m.__send__(:prepend_features, self)\n      m.__send__(:prepended, self)\n"],
  ],
  "mrblib/00kernel.rb" => [
    ["      m.extend_object(self)\n      m.extended(self)\n",
     "      m.__send__(:extend_object, self)\n      m.__send__(:extended, self)\n"],
  ],
  # `dup` and `clone` ask initialize_dup and initialize_clone where a class has its own, which end in initialize_copy.
  "src/class.c" => [
    ["  if (!mrb_func_basic_p(mrb, dest, MRB_SYM(initialize_copy), mrb_obj_init_copy)) {\n" \
     "    mrb_funcall_argv(mrb, dest, MRB_SYM(initialize_copy), 1, &obj);\n  }\n}\n",
     "}\n\n" \
     "mrb_value fg_obj_init_dup(mrb_state *mrb, mrb_value self);\n\n" \
     "static void\nfg_initialize(mrb_state *mrb, mrb_value dest, mrb_value obj, mrb_sym own)\n{\n" \
     "  if (mrb_respond_to(mrb, dest, own) && !mrb_func_basic_p(mrb, dest, own, fg_obj_init_dup)) {\n" \
     "    mrb_funcall_argv(mrb, dest, own, 1, &obj);\n  }\n" \
     "  else if (!mrb_func_basic_p(mrb, dest, MRB_SYM(initialize_copy), mrb_obj_init_copy)) {\n" \
     "    mrb_funcall_argv(mrb, dest, MRB_SYM(initialize_copy), 1, &obj);\n  }\n}\n"],
    ["  init_copy(mrb, clone, self);\n",
     "  init_copy(mrb, clone, self);\n  fg_initialize(mrb, clone, self, MRB_SYM(initialize_clone));\n"],
    ["  init_copy(mrb, dup, obj);\n",
     "  init_copy(mrb, dup, obj);\n  fg_initialize(mrb, dup, obj, MRB_SYM(initialize_dup));\n"],
  ],
  "src/kernel.c" => [
    [/^  mrb_define_method_id\(mrb, krn, MRB_SYM\(initialize_copy\), +mrb_obj_init_copy, +MRB_ARGS_REQ\(1\)\);/,
     "  mrb_define_method_id(mrb, krn, MRB_SYM(initialize_dup), fg_obj_init_dup, MRB_ARGS_ANY());\n" \
     "  mrb_define_method_id(mrb, krn, MRB_SYM(initialize_clone), fg_obj_init_dup, MRB_ARGS_ANY());\n" \
     "  mrb_define_method_id(mrb, krn, MRB_SYM(initialize_copy), mrb_obj_init_copy, MRB_ARGS_REQ(1));"],
    ["void\nmrb_init_kernel(mrb_state *mrb)\n{\n",
     "mrb_bool\nfg_answers(mrb_state *mrb, mrb_value v, mrb_sym name)\n{\n" \
     "  mrb_sym missing = MRB_SYM_Q(respond_to_missing);\n\n" \
     "  if (mrb_respond_to(mrb, v, name)) return TRUE;\n" \
     "  if (mrb_immediate_p(v) || mrb_type(v) != MRB_TT_OBJECT || !mrb_respond_to(mrb, v, missing)) return FALSE;\n" \
     "  if (mrb_func_basic_p(mrb, v, missing, mrb_false)) return FALSE;\n" \
     "  return mrb_test(mrb_funcall_id(mrb, v, missing, 2, mrb_symbol_value(name), mrb_true_value()));\n}\n\n" \
     "void\nmrb_init_kernel(mrb_state *mrb)\n{\n"],
    ["mrb_value\nmrb_obj_init_copy(mrb_state *mrb, mrb_value self)\n{\n",
     "mrb_value\nfg_obj_init_dup(mrb_state *mrb, mrb_value self)\n{\n  mrb_value from = mrb_get_arg1(mrb);\n\n" \
     "  mrb_funcall_argv(mrb, self, MRB_SYM(initialize_copy), 1, &from);\n  return self;\n}\n\n" \
     "mrb_value\nmrb_obj_init_copy(mrb_state *mrb, mrb_value self)\n{\n"],
  ],
  # What an object says that it answers, in respond_to_missing?, counts where it is converted.
  "src/object.c" => [
    ["  if (!mrb_respond_to(mrb, val, method)) {\n    if (raise) {\n",
     "  if (!fg_answers(mrb, val, method)) {\n    if (raise) {\n"],
  ],
  "src/array.c" => [
    ["  if (!mrb_respond_to(mrb, v, MRB_SYM(to_a))) {\n", "  if (!fg_answers(mrb, v, MRB_SYM(to_a))) {\n"],
  ],
  "include/mruby.h" => [
    ["MRB_API mrb_bool mrb_respond_to(mrb_state *mrb, mrb_value obj, mrb_sym mid);\n",
     "MRB_API mrb_bool mrb_respond_to(mrb_state *mrb, mrb_value obj, mrb_sym mid);\n" \
     "mrb_bool fg_answers(mrb_state *mrb, mrb_value obj, mrb_sym mid);\n"],
  ],
  # Bytecode that is given as a buffer is part of the program or kept until it ends: it is used where it stands.
  "src/load.c" => [
    ["  return read_irep(mrb, (const uint8_t*)buf, bufsize, FLAG_SRC_MALLOC);\n",
     "  return read_irep(mrb, (const uint8_t*)buf, bufsize, FLAG_SRC_STATIC);\n"],
  ],
}.freeze
