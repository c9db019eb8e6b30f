# What patch.rb changes in mruby for calls: keywords given to a function of C are its last argument, and a bare
# `super` passes on the keywords. Part of patch.rb.

# A function of C that only asks for the count of its arguments did not see them.
FOLD = <<~'C'.freeze
  /* Keywords become the last argument of a function that knows none. */
  static void
  fg_fold_keywords(mrb_state *mrb, mrb_callinfo *ci)
  {
    mrb_value *stack = ci->stack;
    mrb_int block = mrb_ci_bidx(ci);
    mrb_value kdict = stack[block-1];

    if (!mrb_hash_p(kdict) || mrb_hash_size(mrb, kdict) == 0) return;
    if (ci->n < 14) {
      ci->n++;
    }
    else {
      mrb_value list = ci->n == 14 ? mrb_ary_new_from_values(mrb, 14, stack+1)
                                   : mrb_ary_new_from_values(mrb, RARRAY_LEN(stack[1]), RARRAY_PTR(stack[1]));
      mrb_ary_push(mrb, list, kdict);
      stack[1] = list;
      stack[2] = stack[block];
      ci->n = 15;
    }
    ci->nk = 0;
  }

C

SUPER = {
  "src/class.c" => [
    [/  if \(!reqkarg && ci->nk > 0\) \{\n.*?\n  \}\n(?=  if \(reqkarg && ci->nk)/m,
     "  if (!reqkarg && ci->nk > 0) {\n    fg_fold_keywords(mrb, ci);\n    argc = ci->n;\n  }\n"],
    ["MRB_API mrb_int\nmrb_get_argc(mrb_state *mrb)\n{\n",
     "#{FOLD}MRB_API mrb_int\nmrb_get_argc(mrb_state *mrb)\n{\n" \
     "  if (mrb->c->ci->nk > 0) fg_fold_keywords(mrb, mrb->c->ci);\n"],
    # A Float is an object of its own here, but its value is not copied.
    [/^mrb_obj_clone\(.*?\K  if \(mrb_immediate_p\(self\)\) \{\n/m,
     "  if (mrb_immediate_p(self) || mrb_float_p(self)) {\n"],
    [/^mrb_obj_dup\(.*?\K  if \(mrb_immediate_p\(obj\)\) \{\n/m,
     "  if (mrb_immediate_p(obj) || mrb_float_p(obj)) {\n"],
    ["  p->flags |= MRB_PROC_STRICT;\n  MRB_METHOD_FROM_PROC(m, p);\n",
     "  p->flags |= MRB_PROC_STRICT | FG_PROC_METHOD;\n  MRB_METHOD_FROM_PROC(m, p);\n"],
  ],
  # A method made of a block has a name of its own.
  "mrbgems/mruby-kernel-ext/src/kernel.c" => [
    ["  if (ci->proc && ci->proc->e.env && ci->proc->e.env->tt == MRB_TT_ENV && ci->proc->e.env->mid)\n",
     "  if (ci->proc && (ci->proc->flags & FG_PROC_METHOD))\n    return mrb_symbol_value(ci->mid);\n" \
     "  else if (ci->proc && ci->proc->e.env && ci->proc->e.env->tt == MRB_TT_ENV && ci->proc->e.env->mid)\n"],
  ],
  "mrbgems/mruby-compiler/core/codegen.c" => [
    ["  mrb_bool mscope:1;\n",
     "  mrb_bool mscope:1;\n  node *fg_keywords; /* the named ones of the method, and whether it takes others */\n" \
     "  mrb_bool fg_rest;\n"],
    ["      | ((ka | kd) ? 1 : 0);\n",
     "      | ((ka | kd) ? 1 : 0);\n    s->fg_keywords = ka ? tail->cdr->car : NULL;\n    s->fg_rest = kd != 0;\n"],
    # By now the named ones are taken out of the hash of the call: their variables have them.
    ["        pop(); pop(); pop();\n        /* keyword arguments */\n        if (ainfo & 0x1) {\n",
     "        pop(); pop(); pop();\n        /* keyword arguments */\n" \
     "        if (s2->fg_keywords) fg_super_keywords(s, s2);\n        if (ainfo & 0x1) {\n"],
    [/^static void\ncodegen\(codegen_scope \*s, node \*tree, int val\)\n\{/,
     "static void\nfg_super_keywords(codegen_scope *s, codegen_scope *method)\n{\n" \
     "  int hash = cursp() + 1, count = 0;\n\n" \
     "  push_n(3);\n" \
     "  if (method->fg_rest) {\n" \
     "    genop_2(s, OP_HASH, cursp(), 0);\n" \
     "    push();\n    gen_move(s, cursp(), hash, 1);\n    push();\n    pop_n(2);\n" \
     "    genop_1(s, OP_HASHCAT, cursp());\n    push();\n  }\n" \
     "  for (node *k = method->fg_keywords; k; k = k->cdr, count++) {\n" \
     "    mrb_sym name = nsym(k->car->cdr->car);\n" \
     "    int at = lv_idx(s, name);\n" \
     "    genop_2(s, OP_LOADSYM, cursp(), new_sym(s, name));\n" \
     "    push();\n" \
     "    if (at > 0) gen_move(s, cursp(), at, 1);\n" \
     "    else gen_getupvar(s, cursp(), name);\n" \
     "    push();\n  }\n" \
     "  pop_n(count * 2);\n" \
     "  if (method->fg_rest) pop();\n" \
     "  genop_2(s, method->fg_rest ? OP_HASHADD : OP_HASH, cursp(), count);\n" \
     "  gen_move(s, hash, cursp(), 1);\n" \
     "  pop_n(3);\n}\n\n" \
     "static void\ncodegen(codegen_scope *s, node *tree, int val)\n{"],
  ],
}.freeze

# Part of patch.rb, each from the file of its name.
ANSWERS = [CODEGEN, SUPER, EACH, COERCE, LISTS, IMPLICIT].freeze
