# What patch.rb changes in mruby so that arguments of other classes are asked for to_str, to_ary, to_hash or to_int
# where a function of C wants a String, an Array, a Hash or an Integer; and `?é`, and `a&.b += 1`.

IMPLICIT_C = <<~'C'.freeze
  /* What an object says it is, for a letter of mrb_get_args; the object itself where it says nothing. */
  MRB_API mrb_value
  fg_implicit(mrb_state *mrb, mrb_value v, char letter)
  {
    const char *name;

    if (mrb_immediate_p(v) || mrb_type(v) != MRB_TT_OBJECT) return v;
    switch (letter) {
    case 's': case 'S': case 'z': name = "to_str"; break;
    case 'a': case 'A': name = "to_ary"; break;
    case 'H': name = "to_hash"; break;
    case 'i': name = "to_int"; break;
    default: return v;
    }
    mrb_sym method = mrb_intern_cstr(mrb, name);
    if (!mrb_respond_to(mrb, v, method)) return v;
    mrb_value got = mrb_funcall_argv(mrb, v, method, 0, NULL);
    mrb_bool fits = name[3] == 's' ? mrb_string_p(got) : name[3] == 'a' ? mrb_array_p(got)
                  : name[3] == 'h' ? mrb_hash_p(got) : mrb_integer_p(got) || mrb_bigint_p(got);
    if (fits) return got;
    if (mrb_nil_p(got)) return v;
    mrb_raisef(mrb, E_TYPE_ERROR, "can't convert %Y (%Y#%s gives %Y)", v, v, name, got);
    return v;
  }

C

# The call may move the stack and the frames.
ASKED = <<~'C'.freeze
      if (pickarg && !mrb_immediate_p(*pickarg) && mrb_type(*pickarg) == MRB_TT_OBJECT) {
        mrb_value got = fg_implicit(mrb, *pickarg, c);
        ci = mrb->c->ci;
        argv = argv_on_stack ? ci->stack+1 : RARRAY_PTR(ci->stack[1]);
        ((mrb_value*)argv)[i-1] = got;
        pickarg = &argv[i-1];
      }

C

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
  "include/mruby.h" => [
    ["MRB_API mrb_value mrb_check_array_type(",
     "#define FG_IMPLICIT 1\nMRB_API mrb_value fg_implicit(mrb_state *mrb, mrb_value v, char letter);\n" \
     "MRB_API mrb_value mrb_check_array_type("],
  ],
  "src/object.c" => [
    ["MRB_API mrb_value\nmrb_ensure_integer_type(", "#{IMPLICIT_C}MRB_API mrb_value\nmrb_ensure_integer_type("],
    ["    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", val);\n",
     "    mrb_value asked = fg_implicit(mrb, val, 'i');\n" \
     "    if (mrb_integer_p(asked) || mrb_bigint_p(asked)) return asked;\n" \
     "    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", val);\n"],
  ],
  "src/class.c" => [
    ["    switch (c) {\n    case 'o':\n    case 'C':\n", "#{ASKED}    switch (c) {\n    case 'o':\n    case 'C':\n"],
  ],
  "src/string.c" => [
    ["  mrb_ensure_string_type(mrb, str2);\n  return mrb_str_cat_str(mrb, str1, str2);\n",
     "  str2 = mrb_ensure_string_type(mrb, fg_implicit(mrb, str2, 'S'));\n" \
     "  return mrb_str_cat_str(mrb, str1, str2);\n"],
  ],
  "mrbgems/mruby-string-ext/src/string.c" => [
    ["  else\n    mrb_ensure_string_type(mrb, str);\n",
     "  else\n    str = mrb_ensure_string_type(mrb, fg_implicit(mrb, str, 'S'));\n"],
  ],
  "mrbgems/mruby-kernel-ext/src/kernel.c" => [
    ["  mrb_ensure_hash_type(mrb, arg);\n  return arg;\n",
     "  return mrb_ensure_hash_type(mrb, fg_implicit(mrb, arg, 'H'));\n"],
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
