# What patch.rb changes in mruby for objects that stand for a String, an Array, a Hash or an Integer: their `to_str`,
# `to_ary`, `to_hash` or `to_int` is asked where mruby's C functions take one of these.

CONVERT_OBJECT = [
  ["MRB_API mrb_value\nmrb_ensure_string_type(mrb_state *mrb, mrb_value str)\n{\n",
   "/* What the object stands for, if it answers `name` with a value of that type; else the object itself. */\n" \
   "mrb_value\nfg_stands_for(mrb_state *mrb, mrb_value v, enum mrb_vtype type, const char *name)\n{\n" \
   "  if (mrb_immediate_p(v) || (mrb_type(v) != MRB_TT_OBJECT && mrb_type(v) != MRB_TT_CDATA)) return v;\n" \
   "  mrb_sym method = mrb_intern_cstr(mrb, name);\n" \
   "  if (!fg_answers(mrb, v, method)) return v;\n" \
   "  mrb_value made = mrb_funcall_argv(mrb, v, method, 0, NULL);\n" \
   "  return mrb_type(made) == type ? made : v;\n}\n\n" \
   "MRB_API mrb_value\nmrb_ensure_string_type(mrb_state *mrb, mrb_value str)\n{\n"],
  ["mrb_check_string_type(mrb_state *mrb, mrb_value str)\n{\n",
   "mrb_check_string_type(mrb_state *mrb, mrb_value str)\n{\n" \
   "  str = fg_stands_for(mrb, str, MRB_TT_STRING, \"to_str\");\n"],
  ["mrb_check_array_type(mrb_state *mrb, mrb_value ary)\n{\n",
   "mrb_check_array_type(mrb_state *mrb, mrb_value ary)\n{\n" \
   "  ary = fg_stands_for(mrb, ary, MRB_TT_ARRAY, \"to_ary\");\n"],
].freeze

# The stack may have moved meanwhile.
CONVERT_CLASS = [
  ["static mrb_int\nget_args_v(mrb_state *mrb, mrb_args_format format, void** ptr, va_list *ap)\n{\n",
   "static mrb_value\nfg_converted(mrb_state *mrb, mrb_value v, char format)\n{\n" \
   "  switch (format) {\n" \
   "  case 'S': case 's': case 'z': return fg_stands_for(mrb, v, MRB_TT_STRING, \"to_str\");\n" \
   "  case 'A': case 'a': return fg_stands_for(mrb, v, MRB_TT_ARRAY, \"to_ary\");\n" \
   "  case 'H': return fg_stands_for(mrb, v, MRB_TT_HASH, \"to_hash\");\n" \
   "  case 'i': return fg_stands_for(mrb, v, MRB_TT_INTEGER, \"to_int\");\n" \
   "  default: return v;\n  }\n}\n\n" \
   "static mrb_int\nget_args_v(mrb_state *mrb, mrb_args_format format, void** ptr, va_list *ap)\n{\n" \
   "  mrb_value converted;\n"],
  ["      break;\n    }\n\n    switch (c) {\n    case 'o':\n    case 'C':\n",
   "      if (pickarg && !mrb_immediate_p(*pickarg) &&\n" \
   "          (mrb_type(*pickarg) == MRB_TT_OBJECT || mrb_type(*pickarg) == MRB_TT_CDATA)) {\n" \
   "        converted = fg_converted(mrb, *pickarg, c);\n        pickarg = &converted;\n" \
   "        ci = mrb->c->ci;\n        if (argv_on_stack) argv = ci->stack+1;\n      }\n" \
   "      break;\n    }\n\n    switch (c) {\n    case 'o':\n    case 'C':\n"],
].freeze

CONVERT = {
  "src/object.c" => CONVERT_OBJECT,
  "src/class.c" => CONVERT_CLASS,
  "include/mruby.h" => [
    ["MRB_API mrb_value mrb_check_string_type(mrb_state *mrb, mrb_value str);\n",
     "MRB_API mrb_value mrb_check_string_type(mrb_state *mrb, mrb_value str);\n" \
     "mrb_value fg_stands_for(mrb_state *mrb, mrb_value v, enum mrb_vtype type, const char *name);\n"],
  ],
  "src/array.c" => [
    ["  mrb_get_args(mrb, \"*!\", &args, &len);\n  for (int i=0; i<len; i++) {\n" \
     "    mrb_ensure_array_type(mrb, args[i]);\n  }\n",
     "  mrb_get_args(mrb, \"*\", (const mrb_value**)&args, &len);\n  for (int i=0; i<len; i++) {\n" \
     "    args[i] = fg_stands_for(mrb, args[i], MRB_TT_ARRAY, \"to_ary\");\n" \
     "    if (mrb_obj_eq(mrb, args[i], self)) {\n" \
     "      args[i] = mrb_ary_new_from_values(mrb, RARRAY_LEN(self), RARRAY_PTR(self));\n    }\n" \
     "    mrb_ensure_array_type(mrb, args[i]);\n  }\n"],
    ["  mrb->c->ci->mid = 0;\n  if (mrb_obj_equal(mrb, ary1, ary2)) return mrb_fixnum_value(0);\n",
     "  ary2 = fg_stands_for(mrb, ary2, MRB_TT_ARRAY, \"to_ary\");\n" \
     "  mrb->c->ci->mid = 0;\n  if (mrb_obj_equal(mrb, ary1, ary2)) return mrb_fixnum_value(0);\n"],
  ],
  "src/range.c" => [
    ["  struct RRange *r = range_ptr_init(mrb, NULL, beg, end, excl);\n  return mrb_range_value(r);\n",
     "  struct RRange *r = range_ptr_init(mrb, NULL, beg, end, excl);\n  MRB_SET_FROZEN_FLAG((struct RBasic*)r);\n" \
     "  return mrb_range_value(r);\n"],
  ],
  "mrbgems/mruby-kernel-ext/src/kernel.c" => [
    ["  tmp = mrb_type_convert_check(mrb, arg, MRB_TT_ARRAY, MRB_SYM(to_a));\n",
     "  arg = fg_stands_for(mrb, arg, MRB_TT_ARRAY, \"to_ary\");\n" \
     "  tmp = mrb_type_convert_check(mrb, arg, MRB_TT_ARRAY, MRB_SYM(to_a));\n"],
  ],
}.freeze
