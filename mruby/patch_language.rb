# What patch.rb changes in mruby for private and protected methods, ruby2_keywords and `[]`. The rest
# of the first two is in crates/engine-mruby/c: visibility.c, keywords.c.

# A frame remembers what `private` without arguments has said in it; a method's visibility is two flags of its proc.
# Methods made of C functions alone have no proc, and stay public until somebody says otherwise, which gives them one.
CALLINFO = [
  ["  uint8_t cci;                  /* called from C function */\n",
   "  uint8_t cci;                  /* called from C function */\n" \
   "  uint8_t vis; /* of methods defined here: 0 public, 1 private, 2 protected, 3 module_function */\n"],
].freeze

PROC_FLAGS = [
  ["#define MRB_PROC_ALIAS 8192\n",
   "#define MRB_PROC_ALIAS 8192\n" \
   "#define FG_PROC_PRIVATE (1 << 14)\n" \
   "#define FG_PROC_PROTECTED (1 << 15)\n" \
   "#define FG_PROC_HIDDEN (FG_PROC_PRIVATE | FG_PROC_PROTECTED)\n" \
   "#define FG_PROC_KEYWORDS (1 << 16)\n" \
   "#define FG_PROC_METHOD (1 << 17) /* of a block, made by define_method */\n" \
   "void fg_defined_method(mrb_state*, const mrb_callinfo*, struct RClass*, mrb_sym, struct RProc*);\n" \
   "mrb_bool fg_may_call(mrb_state*, const mrb_callinfo*, struct RClass*, const struct RProc*);\n"],
].freeze

VISIBILITY_VM = [
  ["  ci->cci = cci;\n  ci->u.target_class = target_class;\n",
   "  ci->cci = cci;\n  ci->vis = 0;\n  ci->u.target_class = target_class;\n"],
  # What a file defines outside of any class is private, so that not every object answers to it.
  ["    cipush(mrb, 0, CINFO_SKIP, mrb->object_class, NULL, NULL, 0, 0);\n",
   "    cipush(mrb, 0, CINFO_SKIP, mrb->object_class, NULL, NULL, 0, 0);\n    mrb->c->ci->vis = 1;\n"],
  ["      MRB_METHOD_FROM_PROC(m, p);\n      mrb_define_method_raw(mrb, target, mid, m);\n" \
   "      mrb_method_added(mrb, target, mid);\n      mrb_gc_arena_restore(mrb, ai);\n",
   "      MRB_METHOD_FROM_PROC(m, p);\n      mrb_define_method_raw(mrb, target, mid, m);\n" \
   "      fg_defined_method(mrb, mrb->c->ci, target, mid, p);\n" \
   "      mrb_method_added(mrb, target, mid);\n      mrb_gc_arena_restore(mrb, ai);\n"],
  # The receiver is self when nothing stands before the dot, or `self` does.
  ["      if (MRB_METHOD_UNDEF_P(m)) {\n        m = prepare_missing(mrb, ci, recv, mid, blk, (insn == OP_SUPER));\n",
   "      if (MRB_METHOD_PROC_P(m) && !MRB_METHOD_UNDEF_P(m) && (MRB_METHOD_PROC(m)->flags & FG_PROC_HIDDEN) &&\n" \
   "          insn != OP_SUPER && !fg_may_call(mrb, ci, ci->u.target_class, MRB_METHOD_PROC(m))) {\n" \
   "        ci->u.target_class = mrb_class(mrb, recv);\n" \
   "        MRB_METHOD_FROM_PROC(m, NULL);\n" \
   "      }\n" \
   "      if (MRB_METHOD_UNDEF_P(m)) {\n        m = prepare_missing(mrb, ci, recv, mid, blk, (insn == OP_SUPER));\n"],
].freeze

VISIBILITY_CLASS = [
  ["      pnew->flags |= MRB_PROC_ALIAS;\n",
   "      pnew->flags |= MRB_PROC_ALIAS | (p->flags & FG_PROC_HIDDEN);\n"],
  ["    mrb_define_method_raw(mrb, c, method, m);\n    mrb_gc_arena_restore(mrb, ai);\n  }\n" \
   "  return mrb_nil_value();\n",
   "    mrb_define_method_raw(mrb, c, method, m);\n" \
   "    fg_defined_method(mrb, mrb->c->ci - 1, c, method, p);\n" \
   "    mrb_method_added(mrb, c, method);\n" \
   "    mrb_ary_push(mrb, names, mrb_symbol_value(method));\n" \
   "    mrb_gc_arena_restore(mrb, ai);\n  }\n  return names;\n"],
  ["  mrb_get_args(mrb, \"*\", &argv, &argc);\n  ai = mrb_gc_arena_save(mrb);\n  for (int i=0; i<argc; i++) {\n" \
   "    mrb_value name;\n",
   "  mrb_get_args(mrb, \"*\", &argv, &argc);\n  mrb_value names = mrb_ary_new_capa(mrb, argc);\n" \
   "  ai = mrb_gc_arena_save(mrb);\n  for (int i=0; i<argc; i++) {\n    mrb_value name;\n"],
  ["static mrb_value\nmod_attr_define(",
   "void mrb_method_added(mrb_state *mrb, struct RClass *c, mrb_sym mid);\n\n" \
   "/* What a frame says of methods, told to one defined there. `initialize` and its kin are always private. */\n" \
   "void\nfg_defined_method(mrb_state *mrb, const mrb_callinfo *ci, struct RClass *c, mrb_sym mid, struct RProc *p)\n" \
   "{\n" \
   "  int vis = mrb_vm_ci_target_class(ci) == c ? ci->vis : 0;\n\n" \
   "  if (mid == MRB_SYM(initialize) || mid == MRB_SYM(initialize_copy) || mid == MRB_SYM_Q(respond_to_missing)) {\n" \
   "    vis = vis == 3 ? 3 : 1;\n  }\n" \
   "  if (vis == 3 && c->tt == MRB_TT_MODULE) {\n" \
   "    struct RProc *twin = MRB_OBJ_ALLOC(mrb, MRB_TT_PROC, mrb->proc_class);\n" \
   "    mrb_method_t m;\n\n" \
   "    mrb_proc_copy(mrb, twin, p);\n" \
   "    MRB_METHOD_FROM_PROC(m, twin);\n" \
   "    prepare_singleton_class(mrb, (struct RBasic*)c);\n" \
   "    mrb_define_method_raw(mrb, c->c, mid, m);\n  }\n" \
   "  if (vis == 1 || vis == 3) p->flags |= FG_PROC_PRIVATE;\n" \
   "  if (vis == 2) p->flags |= FG_PROC_PROTECTED;\n}\n\n" \
   "/* `ci` is the frame of the call, below that of its caller. */\n" \
   "mrb_bool\nfg_may_call(mrb_state *mrb, const mrb_callinfo *ci, struct RClass *owner, const struct RProc *p)\n{\n" \
   "  mrb_value self = ci[-1].stack[0];\n\n" \
   "  if (mrb_obj_eq(mrb, self, ci->stack[0])) return TRUE;\n" \
   "  if (p->flags & FG_PROC_PRIVATE) return FALSE;\n" \
   "  while (owner->tt == MRB_TT_ICLASS) owner = owner->c;\n" \
   "  return mrb_obj_is_kind_of(mrb, self, owner);\n}\n\n" \
   "static mrb_value\nmod_attr_define("],
].freeze

VISIBILITY_KERNEL = [
  ["  respond_to_p = mrb_respond_to(mrb, self, id);\n",
   "  struct RClass *owner = mrb_class(mrb, self);\n" \
   "  mrb_method_t found = mrb_method_search_vm(mrb, &owner, id);\n" \
   "  respond_to_p = !MRB_METHOD_UNDEF_P(found);\n" \
   "  if (respond_to_p && !priv && MRB_METHOD_PROC_P(found) && (MRB_METHOD_PROC(found)->flags & FG_PROC_HIDDEN)) {\n" \
   "    respond_to_p = FALSE;\n  }\n"],
].freeze

# ruby2_keywords: keywords that end up in a rest argument are marked there, and are keywords again when it is splatted.
KEYWORDS_VM = [
  ["        if (!mrb_nil_p(kdict) && mrb_hash_size(mrb, kdict) > 0) {\n          if (argc < 14) {\n",
   "        if (!mrb_nil_p(kdict) && mrb_hash_size(mrb, kdict) > 0) {\n" \
   "          if (r && (proc->flags & FG_PROC_KEYWORDS)) {\n" \
   "            kdict = mrb_hash_dup(mrb, kdict);\n" \
   "            mrb_hash_ptr(kdict)->flags |= FG_HASH_KEYWORDS;\n" \
   "            regs[mrb_ci_kidx(ci)] = kdict;\n          }\n" \
   "          if (argc < 14) {\n"],
  ["        new_bidx = a+mrb_bidx(n, nk);\n      }\n\n      mrb_assert(bidx < irep->nregs);\n",
   "        new_bidx = a+mrb_bidx(n, nk);\n      }\n" \
   "      else if (n == CALL_MAXARGS && fg_ends_in_keywords(regs[a+1])) {\n" \
   "        stack_extend(mrb, irep->nregs < a+4 ? (mrb_int)a+4 : irep->nregs);\n" \
   "        mrb_value list = regs[a+1];\n" \
   "        mrb_int last = RARRAY_LEN(list) - 1;\n" \
   "        mrb_value kdict = mrb_hash_dup(mrb, RARRAY_PTR(list)[last]);\n" \
   "        list = mrb_ary_subseq(mrb, list, 0, last);\n" \
   "        regs[a+3] = regs[a+2];\n        regs[a+2] = kdict;\n        regs[a+1] = list;\n" \
   "        nk = CALL_MAXARGS;\n        c = n | (nk<<4);\n        bidx = new_bidx = a+3;\n      }\n\n" \
   "      mrb_assert(bidx < irep->nregs);\n"],
  ["static struct RClass*\ncheck_target_class(mrb_state *mrb)\n",
   "static inline mrb_bool\nfg_ends_in_keywords(mrb_value list)\n{\n" \
   "  if (!mrb_array_p(list) || RARRAY_LEN(list) == 0) return FALSE;\n" \
   "  mrb_value last = RARRAY_PTR(list)[RARRAY_LEN(list) - 1];\n" \
   "  return mrb_hash_p(last) && (mrb_hash_ptr(last)->flags & FG_HASH_KEYWORDS);\n}\n\n" \
   "static struct RClass*\ncheck_target_class(mrb_state *mrb)\n"],
].freeze

# A class made from Array, Hash or String may have a `[]` of its own: only the plain ones are read without asking.
OWN_INDEX = [
  ["        if (!mrb_integer_p(vb)) goto getidx_fallback;\n",
   "        if (!mrb_integer_p(vb) || mrb_ary_ptr(va)->c != mrb->array_class) goto getidx_fallback;\n"],
  ["      case MRB_TT_HASH:\n        va = mrb_hash_get(mrb, va, vb);\n",
   "      case MRB_TT_HASH:\n        if (mrb_hash_ptr(va)->c != mrb->hash_class) goto getidx_fallback;\n" \
   "        va = mrb_hash_get(mrb, va, vb);\n"],
  ["      case MRB_TT_STRING:\n        switch (mrb_type(vb)) {\n        case MRB_TT_INTEGER:\n" \
   "        case MRB_TT_STRING:\n",
   "      case MRB_TT_STRING:\n        if (mrb_str_ptr(va)->c != mrb->string_class) goto getidx_fallback;\n" \
   "        switch (mrb_type(vb)) {\n        case MRB_TT_INTEGER:\n        case MRB_TT_STRING:\n"],
].freeze
