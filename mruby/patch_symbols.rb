# What patch.rb changes for symbols: their table grows with them. mruby's has 256 lists, and applications make symbols
# of what clients send (JSON with symbol keys, respond_to?), so that each lookup took a millisecond in the end.

SYMBOL_STATE = [
  ["  uint8_t *symlink;\n", "  mrb_sym *symlink;                       /* the one before in the same list */\n"],
  ["  mrb_sym symhash[256];\n",
   "  mrb_sym *symhash;                       /* the last of each list */\n" \
   "  size_t symlists;                        /* how many lists: a power of two */\n"],
].freeze

SYMBOL_TABLE = [
  ["find_symbol(mrb_state *mrb, const char *name, size_t len, uint8_t *hashp)\n{\n  mrb_sym i;\n  uint8_t hash;\n",
   "find_symbol(mrb_state *mrb, const char *name, size_t len, uint32_t *hashp)\n{\n  mrb_sym i;\n  uint32_t hash;\n"],
  ["  i = mrb->symhash[hash];\n  if (i == 0) return 0;\n  for (;;) {\n" \
   "    if (sym_check(mrb, name, len, i)) {\n      return (i+MRB_PRESYM_MAX);\n    }\n" \
   "    uint8_t diff = mrb->symlink[i];\n    if (diff == 0xff) {\n      i -= 0xff;\n      while (i > 0) {\n" \
   "        if (sym_check(mrb, name, len, i)) {\n          return (i+MRB_PRESYM_MAX);\n        }\n        i--;\n" \
   "      }\n      return 0;\n    }\n    if (diff == 0) return 0;\n    i -= diff;\n  }\n  return 0;\n}\n",
   "  if (mrb->symlists == 0) return 0;\n" \
   "  for (i = mrb->symhash[hash & (mrb->symlists - 1)]; i > 0; i = mrb->symlink[i]) {\n" \
   "    if (sym_check(mrb, name, len, i)) return (i+MRB_PRESYM_MAX);\n  }\n  return 0;\n}\n\n" \
   "static void\nlink_symbol(mrb_state *mrb, mrb_sym i, uint32_t hash)\n{\n" \
   "  mrb_sym *last = &mrb->symhash[hash & (mrb->symlists - 1)];\n" \
   "  mrb->symlink[i] = *last;\n  *last = i;\n}\n\n" \
   "/* As many lists as there is room for symbols: all are linked anew. */\nstatic void\n" \
   "grow_lists(mrb_state *mrb, size_t wanted)\n{\n  size_t lists = mrb->symlists ? mrb->symlists : 256;\n" \
   "  while (lists < wanted) lists *= 2;\n  if (lists == mrb->symlists) return;\n" \
   "  mrb->symhash = (mrb_sym*)mrb_realloc(mrb, mrb->symhash, sizeof(mrb_sym) * lists);\n" \
   "  mrb->symlists = lists;\n  memset(mrb->symhash, 0, sizeof(mrb_sym) * lists);\n" \
   "  for (mrb_sym i = 1; i <= mrb->symidx; i++) {\n    const char *name = mrb->symtbl[i];\n" \
   "    size_t len = sym_lit_p(mrb, i) ? strlen(name)\n" \
   "      : mrb_packed_int_decode((const uint8_t*)name, (const uint8_t**)&name);\n" \
   "    link_symbol(mrb, i, mrb_byte_hash((const uint8_t*)name, len));\n  }\n}\n"],
  ["  mrb_sym sym;\n  uint8_t hash;\n\n  sym_validate_len", "  mrb_sym sym;\n  uint32_t hash;\n\n  sym_validate_len"],
  ["(uint8_t*)mrb_realloc(mrb, mrb->symlink, symcapa);\n    mrb->symcapa = symcapa;\n",
   "(mrb_sym*)mrb_realloc(mrb, mrb->symlink, sizeof(mrb_sym) * symcapa);\n    mrb->symcapa = symcapa;\n" \
   "    grow_lists(mrb, symcapa);\n"],
  ["  if (mrb->symhash[hash]) {\n    mrb_sym i = sym - mrb->symhash[hash];\n    if (i > 0xff)\n" \
   "      mrb->symlink[sym] = 0xff;\n    else\n      mrb->symlink[sym] = i;\n  }\n  else {\n" \
   "    mrb->symlink[sym] = 0;\n  }\n  mrb->symhash[hash] = mrb->symidx = sym;\n",
   "  link_symbol(mrb, sym, hash);\n  mrb->symidx = sym;\n"],
  ["  mrb_free(mrb, (void*)mrb->symlink);\n",
   "  mrb_free(mrb, (void*)mrb->symlink);\n  mrb_free(mrb, (void*)mrb->symhash);\n"],
].freeze

# A value's inspect may set variables of the object that is being inspected: its table moves then. So the names are
# taken first, and each value when its turn comes.
SAFE_INSPECT = [
  ["static int\ninspect_i(mrb_state *mrb, mrb_sym sym, mrb_value v, void *p)\n",
   "static int\nname_i(mrb_state *mrb, mrb_sym sym, mrb_value v, void *p)\n{\n" \
   "  mrb_ary_push(mrb, *(mrb_value*)p, mrb_symbol_value(sym));\n  return 0;\n}\n\n" \
   "static int\ninspect_i(mrb_state *mrb, mrb_sym sym, mrb_value v, void *p)\n"],
  ["    iv_foreach(mrb, t, inspect_i, &str);\n",
   "    mrb_value names = mrb_ary_new_capa(mrb, (mrb_int)len);\n    iv_foreach(mrb, t, name_i, &names);\n" \
   "    for (mrb_int i = 0; i < RARRAY_LEN(names); i++) {\n      mrb_value value;\n" \
   "      mrb_sym name = mrb_symbol(RARRAY_PTR(names)[i]);\n" \
   "      if (iv_get(mrb, obj->iv, name, &value)) inspect_i(mrb, name, value, &str);\n    }\n"],
].freeze
