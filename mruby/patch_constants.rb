# What patch.rb changes in mruby for constants: where a block's are looked up and put, and the hook `const_added`.

# A block runs in whatever class instance_exec or class_eval say, and blocks inside it are made there. Its constants and
# class variables are those of the text around it all the same.
LEXICAL = <<~'C'.freeze
  MRB_INLINE const struct RProc*
  fg_lexical(const struct RProc *p)
  {
    while ((MRB_PROC_ENV_P(p) || (p->flags & MRB_PROC_ALIAS)) && p->upper && !MRB_PROC_CFUNC_P(p->upper)) {
      if (p->upper->flags & FG_PROC_EVAL) break;
      p = p->upper;
    }
    return p;
  }
C

INNERMOST = <<~'C'.freeze
  /* The class that the running text is in. */
  struct RClass*
  fg_innermost(mrb_state *mrb)
  {
    const struct RProc *p = mrb->c->ci->proc;
    if (p->flags & FG_PROC_EVAL) return mrb_vm_ci_target_class(mrb->c->ci);
    return MRB_PROC_TARGET_CLASS(fg_lexical(p));
  }

C

CONST_ADDED = <<~'C'.freeze
  mrb_value
  fg_mod_const_added(mrb_state *mrb, mrb_value mod)
  {
    return mrb_nil_value();
  }

  void
  fg_const_added(mrb_state *mrb, mrb_value mod, mrb_sym sym)
  {
    if (mrb_func_basic_p(mrb, mod, MRB_SYM(const_added), fg_mod_const_added)) return;
    mrb_value name = mrb_symbol_value(sym);
    int ai = mrb_gc_arena_save(mrb);
    mrb_funcall_argv(mrb, mod, MRB_SYM(const_added), 1, &name);
    mrb_gc_arena_restore(mrb, ai);
  }

C

CONSTANTS = {
  "include/mruby/proc.h" => [
    ["#define FG_PROC_METHOD (1 << 17) /* of a block, made by define_method */\n",
     "#define FG_PROC_METHOD (1 << 17) /* of a block, made by define_method */\n" \
     "#define FG_PROC_EVAL (1 << 18) /* of a text given to instance_eval */\n\n#{LEXICAL}\n"],
  ],
  "src/variable.c" => [
    ["mrb_vm_cv_get(mrb_state *mrb, mrb_sym sym)\n{\n  struct RClass *c;\n\n" \
     "  const struct RProc *p = mrb->c->ci->proc;\n\n  for (;;) {\n    c = MRB_PROC_TARGET_CLASS(p);\n",
     "mrb_vm_cv_get(mrb_state *mrb, mrb_sym sym)\n{\n  struct RClass *c;\n\n" \
     "  const struct RProc *p = mrb->c->ci->proc;\n\n  for (;;) {\n    p = fg_lexical(p);\n" \
     "    c = MRB_PROC_TARGET_CLASS(p);\n"],
    ["mrb_vm_cv_set(mrb_state *mrb, mrb_sym sym, mrb_value v)\n{\n  struct RClass *c;\n" \
     "  const struct RProc *p = mrb->c->ci->proc;\n\n  for (;;) {\n    c = MRB_PROC_TARGET_CLASS(p);\n",
     "mrb_vm_cv_set(mrb_state *mrb, mrb_sym sym, mrb_value v)\n{\n  struct RClass *c;\n" \
     "  const struct RProc *p = mrb->c->ci->proc;\n\n  for (;;) {\n    p = fg_lexical(p);\n" \
     "    c = MRB_PROC_TARGET_CLASS(p);\n"],
    ["  const struct RProc *proc = mrb->c->ci->proc;\n\n  c = MRB_PROC_TARGET_CLASS(proc);\n  if (!c)",
     "  const struct RProc *proc = mrb->c->ci->proc;\n\n  c = fg_innermost(mrb);\n" \
     "  if (!(proc->flags & FG_PROC_EVAL)) proc = fg_lexical(proc);\n  if (!c)"],
    ["  while (proc) {\n    c2 = MRB_PROC_TARGET_CLASS(proc);\n",
     "  while (proc) {\n    proc = fg_lexical(proc);\n    c2 = MRB_PROC_TARGET_CLASS(proc);\n"],
    ["MRB_API void\nmrb_const_set(mrb_state *mrb, mrb_value mod, mrb_sym sym, mrb_value v)\n",
     "#{CONST_ADDED}MRB_API void\nmrb_const_set(mrb_state *mrb, mrb_value mod, mrb_sym sym, mrb_value v)\n"],
    ["    mrb_class_name_class(mrb, mrb_class_ptr(mod), mrb_class_ptr(v), sym);\n  }\n" \
     "  mrb_iv_set(mrb, mod, sym, v);\n",
     "    mrb_class_name_class(mrb, mrb_class_ptr(mod), mrb_class_ptr(v), sym);\n  }\n" \
     "  mrb_iv_set(mrb, mod, sym, v);\n" \
     "  fg_const_added(mrb, mod, sym);\n"],
    ["mrb_value\nmrb_vm_const_get(mrb_state *mrb, mrb_sym sym)\n{\n",
     "#{INNERMOST}mrb_value\nmrb_vm_const_get(mrb_state *mrb, mrb_sym sym)\n{\n"],
    ["  c = MRB_PROC_TARGET_CLASS(mrb->c->ci->proc);\n  if (!c) c = mrb->object_class;\n" \
     "  mrb_obj_iv_set(mrb, (struct RObject*)c, sym, v);\n",
     "  c = fg_innermost(mrb);\n  if (!c) c = mrb->object_class;\n" \
     "  mrb_obj_iv_set(mrb, (struct RObject*)c, sym, v);\n  fg_const_added(mrb, mrb_obj_value(c), sym);\n"],
  ],
  "src/vm.c" => [
    ["      super = regs[a+1];\n      if (mrb_nil_p(base)) {\n" \
     "        baseclass = MRB_PROC_TARGET_CLASS(mrb->c->ci->proc);\n",
     "      super = regs[a+1];\n      if (mrb_nil_p(base)) {\n" \
     "        baseclass = fg_innermost(mrb);\n"],
    ["      base = regs[a];\n      if (mrb_nil_p(base)) {\n" \
     "        baseclass = MRB_PROC_TARGET_CLASS(mrb->c->ci->proc);\n",
     "      base = regs[a];\n      if (mrb_nil_p(base)) {\n" \
     "        baseclass = fg_innermost(mrb);\n"],
    ["static void\nargnum_error(mrb_state *mrb, mrb_int num)\n",
     "struct RClass *fg_innermost(mrb_state *mrb);\n\n" \
     "static void\nargnum_error(mrb_state *mrb, mrb_int num, mrb_int most)\n"],
    ["  str = mrb_format(mrb, \"wrong number of arguments (given %i, expected %i)\", argc, num);\n",
     "  if (most < 0) str = mrb_format(mrb, \"wrong number of arguments (given %i, expected %i+)\", argc, num);\n" \
     "  else if (most > num) {\n" \
     "    str = mrb_format(mrb, \"wrong number of arguments (given %i, expected %i..%i)\", argc, num, most);\n  }\n" \
     "  else str = mrb_format(mrb, \"wrong number of arguments (given %i, expected %i)\", argc, num);\n"],
    ["          argnum_error(mrb, m1);\n", "          argnum_error(mrb, m1, m1);\n"],
    ["          argnum_error(mrb, m1+m2);\n", "          argnum_error(mrb, m1 + m2, r ? -1 : m1 + o + m2);\n"],
  ],
  "src/class.c" => [
    ["union mt_ptr {\n",
     "void fg_const_added(mrb_state*, mrb_value, mrb_sym);\nmrb_value fg_mod_const_added(mrb_state*, mrb_value);\n\n" \
     "union mt_ptr {\n"],
    ["  return define_module(mrb, id, mrb_class_ptr(outer));\n",
     "  struct RClass *made = define_module(mrb, id, mrb_class_ptr(outer));\n" \
     "  fg_const_added(mrb, outer, id);\n  return made;\n"],
    ["  mrb_class_inherited(mrb, mrb_class_real(c->super), c);\n\n  return c;\n}\n\n" \
     "MRB_API mrb_bool\nmrb_class_defined(",
     "  fg_const_added(mrb, outer, id);\n  mrb_class_inherited(mrb, mrb_class_real(c->super), c);\n\n" \
     "  return c;\n}\n\n" \
     "MRB_API mrb_bool\nmrb_class_defined("],
    [/^  mrb_define_method_id\(mrb, mod, MRB_SYM\(const_missing\),/,
     "  mrb_define_method_id(mrb, mod, MRB_SYM(const_added),              " \
     "fg_mod_const_added,       MRB_ARGS_REQ(1));\n  mrb_define_method_id(mrb, mod, MRB_SYM(const_missing),"],
  ],
  # What a text is evaluated in has no say in the class of the frame around it.
  "mrbgems/mruby-eval/src/eval.c" => [
    ["    MRB_PROC_SET_TARGET_CLASS(proc, c);\n    mrb_assert(!MRB_PROC_CFUNC_P(proc));\n" \
     "    mrb_vm_ci_target_class_set(mrb->c->ci, c);\n",
     "    proc->flags |= FG_PROC_EVAL;\n" \
     "    mrb_assert(!MRB_PROC_CFUNC_P(proc));\n    mrb_vm_ci_target_class_set(mrb->c->ci, c);\n"],
    ["    mrb_raise(mrb, E_SCRIPT_ERROR, \"codegen error\");\n",
     "    mrb_raisef(mrb, E_SYNTAX_ERROR, \"%s cannot be compiled\", file);\n"],
  ],
  "mrbgems/mruby-metaprog/src/metaprog.c" => [
    ["  while (proc && !MRB_PROC_CFUNC_P(proc)) {\n    if (MRB_PROC_SCOPE_P(proc)) {\n",
     "  while (proc && !MRB_PROC_CFUNC_P(proc)) {\n    proc = fg_lexical(proc);\n    if (MRB_PROC_SCOPE_P(proc)) {\n"],
  ],
  # `redo` in the condition, which stands before the body: its places are filled in when the body has one.
  "mrbgems/mruby-compiler/core/codegen.c" => [
    ["  uint32_t pc1;                 /* `redo` destination */\n",
     "  uint32_t pc1;                 /* `redo` destination */\n" \
     "  uint32_t fg_redo;             /* `redo`s before it is known */\n"],
    ["      genjmp(s, OP_JMPUW, fg_loop(s)->pc1);\n",
     "      struct loopinfo *around = fg_loop(s);\n" \
     "      if (around->pc1 == JMPLINK_START) around->fg_redo = genjmp(s, OP_JMPUW, around->fg_redo);\n" \
     "      else genjmp(s, OP_JMPUW, around->pc1);\n"],
    ["  p->pc0 = p->pc1 = p->pc2 = JMPLINK_START;\n", "  p->pc0 = p->pc1 = p->pc2 = p->fg_redo = JMPLINK_START;\n"],
    ["      dispatch(s, first);\n      lp->pc1 = new_label(s);\n",
     "      dispatch(s, first);\n      dispatch_linked(s, lp->fg_redo);\n      lp->pc1 = new_label(s);\n"],
    ["        pos = genjmp2_0(s, OP_JMPIF, cursp(), NOVAL);\n      }\n      lp->pc1 = new_label(s);\n",
     "        pos = genjmp2_0(s, OP_JMPIF, cursp(), NOVAL);\n      }\n      dispatch_linked(s, lp->fg_redo);\n" \
     "      lp->pc1 = new_label(s);\n"],
  ],
}.freeze

# `alias $new $old`, which the grammar has not: the lexer reads it as a call, `__alias_global__('$new', '$old')`
# (crates/engine-mruby/c/globals.c).
ALIAS_GLOBALS = [
  ["static int\nparser_yylex(parser_state *p)\n{\n",
   <<~C + "static int\nparser_yylex(parser_state *p)\n{\n"],
     static mrb_bool
     fg_alias_globals(parser_state *p)
     {
       int read[160], n = 0, starts[2], ends[2], c = nextc(p);

       for (int i = 0; i < 2; i++) {
         while ((c == ' ' || c == '\\t') && n < 150) { read[n++] = c; c = nextc(p); }
         starts[i] = n;
         if (c != '$') goto other;
         while (c > ' ' && n < 150 && (c != ';' || n < starts[i] + 2)) { read[n++] = c; c = nextc(p); }
         ends[i] = n;
         if (n < starts[i] + 2) goto other;
       }
       pushback(p, c);
       pushback(p, ')');
       for (int i = 1; i >= 0; i--) {
         pushback(p, '\\'');
         for (int at = ends[i] - 1; at >= starts[i]; at--) {
           pushback(p, read[at]);
           if (read[at] == '\\'' || read[at] == '\\\\') pushback(p, '\\\\');
         }
         pushback(p, '\\'');
         pushback(p, i == 1 ? ',' : '(');
       }
       return TRUE;
     other:
       pushback(p, c);
       while (n > 0) pushback(p, read[--n]);
       return FALSE;
     }

   C
  ["        if (kw && kw->id[0] == keyword_nil && p->fg_stars) kw = NULL;\n",
   "        if (kw && kw->id[0] == keyword_nil && p->fg_stars) kw = NULL;\n" \
   "        if (kw && kw->id[0] == keyword_alias && p->lstate == EXPR_BEG && fg_alias_globals(p)) {\n" \
   "          pylval.id = mrb_intern_lit(p->mrb, \"__alias_global__\");\n" \
   "          p->lstate = EXPR_CMDARG;\n" \
   "          return tIDENTIFIER;\n" \
   "        }\n"],
].freeze
