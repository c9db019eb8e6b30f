# What patch.rb changes in mruby for the arguments of blocks and calls: keywords that `instance_exec`, `send` and
# Fiber#resume hand on, an empty `**`, and objects that are taken apart by their `to_ary`.

CALLS_VM = [
  # An empty `**` hands on nothing.
  ["        mrb_ensure_hash_type(mrb, regs[a+(n==CALL_MAXARGS?1:n)+1]);\n",
   "        mrb_int kidx = a+(n==CALL_MAXARGS?1:n)+1;\n" \
   "        mrb_ensure_hash_type(mrb, regs[kidx]);\n" \
   "        if (mrb_hash_empty_p(mrb, regs[kidx])) {\n" \
   "          regs[kidx] = regs[kidx+1];\n" \
   "          nk = 0;\n          c = n;\n          bidx = new_bidx = kidx;\n        }\n"],
  # Without arguments the place of the keywords is that of the packed arguments; and when these were packed before, it
  # is not behind as many of them as there can be.
  ["  argv = &ci->stack[1];         /* maybe reallocated */\n  argv[0] = args;\n" \
   "  if (ci->nk == 0) {\n    argv[1] = blk;\n  }\n  else {\n    mrb_assert(ci->nk == 15);\n" \
   "    argv[1] = argv[ci->n];\n    argv[2] = blk;\n  }\n",
   "  argv = &ci->stack[1];         /* maybe reallocated */\n" \
   "  mrb_value kdict = ci->nk == 0 ? mrb_nil_value() : argv[ci->n == 15 ? 1 : ci->n];\n" \
   "  argv[0] = args;\n" \
   "  if (ci->nk == 0) {\n    argv[1] = blk;\n  }\n  else {\n    mrb_assert(ci->nk == 15);\n" \
   "    argv[1] = kdict;\n    argv[2] = blk;\n  }\n"],
  # method_missing gets what `send` was given, keywords included.
  ["  if (MRB_METHOD_UNDEF_P(m)) {            /* call method_mising */\n    goto funcall;\n  }\n\n" \
   "  ci->mid = name;\n  ci->u.target_class = c;\n",
   "  mrb_bool missing = MRB_METHOD_UNDEF_P(m);\n" \
   "  if (missing) {\n    c = mrb_class(mrb, self);\n" \
   "    m = mrb_vm_find_method(mrb, c, &c, MRB_SYM(method_missing));\n" \
   "    if (MRB_METHOD_UNDEF_P(m)) goto funcall;\n" \
   "    if (n == 15) mrb_ary_set(mrb, regs[0], 0, mrb_symbol_value(name));\n" \
   "    else regs[0] = mrb_symbol_value(name);\n  }\n\n" \
   "  ci->mid = missing ? MRB_SYM(method_missing) : name;\n  ci->u.target_class = c;\n"],
  ["  if (n == 15) {     /* variable length arguments */\n    regs[0] = mrb_ary_subseq",
   "  if (missing) {\n    /* it wants the name */\n  }\n" \
   "  else if (n == 15) {     /* variable length arguments */\n    regs[0] = mrb_ary_subseq"],
  ["mrb_value\nmrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv)\n{\n",
   "mrb_value\nmrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv)\n{\n" \
   "  return fg_yield_cont(mrb, b, self, argc, argv, mrb_nil_value());\n}\n\n" \
   "mrb_value\nfg_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv,\n" \
   "              mrb_value kdict)\n{\n"],
  ["  mrb->c->ci->stack[3] = mrb_nil_value();\n  ci->n = 15;\n  ci->nk = 0;\n",
   "  mrb->c->ci->stack[3] = mrb_nil_value();\n  ci->n = 15;\n  ci->nk = 0;\n" \
   "  if (mrb_hash_p(kdict) && !mrb_hash_empty_p(mrb, kdict)) {\n" \
   "    mrb->c->ci->stack[2] = kdict;\n    ci->nk = 15;\n  }\n"],
  # A Hash of keywords counts among the arguments only where there are no keywords to take it.
  ["          argnum_error(mrb, m1);\n", "          ci->n += ci->nk == 15;\n          argnum_error(mrb, m1);\n"],
  ["  if (argc == 0 && mrb->c->ci->nk != 0 && !mrb_hash_empty_p(mrb, mrb->c->ci->stack[1])) {\n    argc++;\n  }\n", ""],
  # An Array is taken apart for parameters that must be given, or for several; and not beside keywords.
  ["      else if (len > 1 && argc == 1 && mrb_array_p(argv[0])) {\n        mrb_gc_protect(mrb, argv[0]);\n",
   "      else if (len > 1 && argc == 1 && (m1 + m2 > 0 || o > 1) &&\n" \
   "               (mrb_nil_p(kdict) || mrb_hash_empty_p(mrb, kdict)) && fg_spreads(mrb, &argv)) {\n" \
   "        ci = mrb->c->ci;\n        mrb_gc_protect(mrb, argv[0]);\n"],
  ["      mrb_value v = regs[b];\n\n      if (!mrb_array_p(v)) {\n        if (c == 0) {\n",
   "      mrb_value v = regs[b];\n\n" \
   "      if (!mrb_array_p(v)) regs[b] = v = fg_to_ary(mrb, v);\n" \
   "      if (!mrb_array_p(v)) {\n        if (c == 0) {\n"],
  ["      int len, idx;\n\n      if (!mrb_array_p(v)) {\n        v = ary_new_from_regs(mrb, 1, a);\n",
   "      int len, idx;\n\n      if (!mrb_array_p(v)) regs[a] = v = fg_to_ary(mrb, v);\n" \
   "      if (!mrb_array_p(v)) {\n        v = ary_new_from_regs(mrb, 1, a);\n"],
  ["static void\nargnum_error(mrb_state *mrb, mrb_int num)\n{\n",
   "static mrb_value\nfg_to_ary(mrb_state *mrb, mrb_value v)\n{\n" \
   "  return fg_stands_for(mrb, v, MRB_TT_ARRAY, \"to_ary\");\n}\n\n" \
   "static mrb_bool\nfg_spreads(mrb_state *mrb, mrb_value **argv)\n{\n" \
   "  if (mrb_array_p(**argv)) return TRUE;\n" \
   "  mrb_value list = fg_to_ary(mrb, **argv);\n" \
   "  if (!mrb_array_p(list)) return FALSE;\n" \
   "  /* The stack may have moved. */\n" \
   "  mrb->c->ci->stack[1] = list;\n  mrb->c->ci->n = 1;\n  *argv = mrb->c->ci->stack + 1;\n  return TRUE;\n}\n\n" \
   "static void\nargnum_error(mrb_state *mrb, mrb_int num)\n{\n"],
].freeze

CALLS_HEADER = [
  ["mrb_value mrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv);\n",
   "mrb_value mrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv);\n" \
   "mrb_value fg_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv,\n" \
   "                        mrb_value kdict);\n"],
].freeze

EXEC = [
  ["  struct RClass *c;\n\n  mrb_get_args(mrb, \"*&!\", &argv, &argc, &blk);\n",
   "  struct RClass *c;\n  mrb_value kdict = mrb_nil_value();\n" \
   "  const mrb_kwargs keywords = {0, 0, NULL, NULL, &kdict};\n\n" \
   "  mrb_get_args(mrb, \"*:&!\", &argv, &argc, &keywords, &blk);\n"],
  ["  return mrb_yield_cont(mrb, blk, self, argc, argv);\n",
   "  return fg_yield_cont(mrb, blk, self, argc, argv, kdict);\n"],
].freeze

# The first `resume` calls the block: its keywords are those of the block.
FIBER = [
  ["  mrb_get_args(mrb, \"*!\", &a, &len);\n  if (mrb->c->ci->cci > 0) {\n    vmexec = TRUE;\n  }\n" \
   "  return fiber_switch(mrb, self, len, a, TRUE, vmexec);\n",
   "  struct mrb_context *fresh = fiber_check(mrb, self);\n" \
   "  mrb_bool keywords = mrb->c->ci->nk == 15 && fresh->status == MRB_FIBER_CREATED;\n" \
   "  mrb_get_args(mrb, \"*!\", &a, &len);\n  if (mrb->c->ci->cci > 0) {\n    vmexec = TRUE;\n  }\n" \
   "  if (keywords && len > 0) fresh->cibase->nk = 15;\n" \
   "  return fiber_switch(mrb, self, len, a, TRUE, vmexec);\n"],
  ["      mrb_stack_extend(mrb, 3);   /* for receiver, args and (optional) block */\n" \
   "      c->stbase[1] = mrb_ary_new_from_values(mrb, len, a);\n      len = 15;\n",
   "      mrb_bool keywords = c->cibase->nk == 15;\n" \
   "      mrb_stack_extend(mrb, 4);   /* for receiver, args, keywords and (optional) block */\n" \
   "      if (keywords) c->stbase[2] = a[len-1];\n" \
   "      c->stbase[1] = mrb_ary_new_from_values(mrb, len-keywords, a);\n      len = 15+keywords;\n"],
  ["    c->cibase->n = (uint8_t)len;\n", "    c->cibase->n = (uint8_t)(len - (c->cibase->nk == 15));\n"],
].freeze

CALLS = {
  "src/vm.c" => CALLS_VM,
  "include/mruby.h" => CALLS_HEADER,
  "mrbgems/mruby-compiler/core/codegen.c" => YIELD_CODE + NO_KEYWORDS_CODE,
  "mrbgems/mruby-object-ext/src/object.c" => EXEC,
  "mrbgems/mruby-class-ext/src/class.c" => EXEC,
  "mrbgems/mruby-fiber/src/fiber.c" => FIBER,
}.freeze
