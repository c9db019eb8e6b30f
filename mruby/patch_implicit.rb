# What patch.rb changes in mruby so that arguments of other classes are asked for to_str, to_hash or to_int outside of
# mrb_get_args too (patch_convert.rb has the rest); and `?é`, and `a&.b += 1`.

# A step of what is nil is left out.
SAFE_STEP = <<~'C'.freeze
  static node*
  fg_safe_step(parser_state *p, node *a, mrb_sym op, node *b)
  {
    mrb_sym held = mrb_intern_lit(p->mrb, "&.");
    node *n = p->locals->car;

    while (n && sym(n->car) != held) n = n->cdr;
    if (!n) local_add_f(p, held);
    node *receiver = new_asgn(p, new_lvar(p, held), a->cdr->car);
    node *none = new_call(p, receiver, mrb_intern_lit(p->mrb, "nil?"), 0, 1);
    node *call = list4((node*)NODE_CALL, new_lvar(p, held), a->cdr->cdr->car, a->cdr->cdr->cdr->car);
    return new_if(p, none, new_nil(p), list4((node*)NODE_OP_ASGN, call, nsym(op), b));
  }

C

IMPLICIT = {
  "src/object.c" => [
    ["    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", val);\n",
     "    mrb_value asked = fg_stands_for(mrb, val, MRB_TT_INTEGER, \"to_int\");\n" \
     "    if (mrb_integer_p(asked)) return asked;\n" \
     "    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", val);\n"],
  ],
  "src/string.c" => [
    ["  mrb_ensure_string_type(mrb, str2);\n  return mrb_str_cat_str(mrb, str1, str2);\n",
     "  str2 = mrb_ensure_string_type(mrb, fg_stands_for(mrb, str2, MRB_TT_STRING, \"to_str\"));\n" \
     "  return mrb_str_cat_str(mrb, str1, str2);\n"],
  ],
  "mrbgems/mruby-string-ext/src/string.c" => [
    ["  else\n    mrb_ensure_string_type(mrb, str);\n",
     "  else\n    str = mrb_ensure_string_type(mrb, fg_stands_for(mrb, str, MRB_TT_STRING, \"to_str\"));\n"],
  ],
  "mrbgems/mruby-kernel-ext/src/kernel.c" => [
    ["  mrb_ensure_hash_type(mrb, arg);\n  return arg;\n",
     "  return mrb_ensure_hash_type(mrb, fg_stands_for(mrb, arg, MRB_TT_HASH, \"to_hash\"));\n"],
  ],
}.freeze

LETTERS = [
  ["new_op_asgn(parser_state *p, node *a, mrb_sym op, node *b)\n{\n  void_expr_error(p, b);\n",
   "new_op_asgn(parser_state *p, node *a, mrb_sym op, node *b)\n{\n  void_expr_error(p, b);\n" \
   "  if (typen(a->car) == NODE_SCALL) return fg_safe_step(p, a, op, b);\n"],
  ["static node*\nnew_op_asgn(", "#{SAFE_STEP}static node*\nnew_op_asgn("],
  ["    else {\n      tokadd(p, c);\n    }\n    tokfix(p);\n    pylval.nd = new_str(p, tok(p), toklen(p));\n" \
   "    p->lstate = EXPR_ENDARG;\n    return tCHAR;\n",
   "    else {\n      tokadd(p, c);\n" \
   "      int more = (c & 0xe0) == 0xc0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : (c & 0xf8) == 0xf0 ? 3 : 0;\n" \
   "      while (more-- > 0) tokadd(p, nextc(p));\n    }\n" \
   "    tokfix(p);\n    pylval.nd = new_str(p, tok(p), toklen(p));\n    p->lstate = EXPR_ENDARG;\n    return tCHAR;\n"],
].freeze
