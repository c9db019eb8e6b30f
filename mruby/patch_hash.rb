# What patch.rb changes in mruby's hashes for ruby2_keywords and Hash#compare_by_identity; the rest of both is in
# crates/engine-mruby/c/keywords.c.

HASH_FLAGS = [
  ["#define MRB_HASH_HT                 (1 << (MRB_HASH_SIZE_FLAGS_SHIFT + 2))\n",
   "#define MRB_HASH_HT                 (1 << (MRB_HASH_SIZE_FLAGS_SHIFT + 2))\n" \
   "#define FG_HASH_IDENTITY (1 << 15)\n#define FG_HASH_KEYWORDS (1 << 16)\n"],
].freeze

# Hash#compare_by_identity.
IDENTITY_HASH = [
  ["  mrb_value hash_code_obj;\n  switch (tt) {\n",
   "  mrb_value hash_code_obj;\n" \
   "  if (h->flags & FG_HASH_IDENTITY) {\n" \
   "    hash_code = U32(mrb_obj_id(key));\n" \
   "    return hash_code ^ (hash_code << 2) ^ (hash_code >> 2);\n  }\n" \
   "  switch (tt) {\n"],
  ["  mrb_bool eql;\n\n  switch (tt) {\n",
   "  mrb_bool eql;\n\n  if (h->flags & FG_HASH_IDENTITY) return mrb_obj_eq(mrb, a, b);\n  switch (tt) {\n"],
  ["  key = h_key_for(mrb, key);\n",
   "  if (!(mrb_hash_ptr(hash)->flags & FG_HASH_IDENTITY)) key = h_key_for(mrb, key);\n"],
  ["  uint32_t mask = MRB_HASH_DEFAULT | MRB_HASH_PROC_DEFAULT;\n",
   "  uint32_t mask = MRB_HASH_DEFAULT | MRB_HASH_PROC_DEFAULT | FG_HASH_IDENTITY;\n"],
  # What is merged, or given with two stars, may be like a hash: Roda's flash is.
  ["  mrb_ensure_hash_type(mrb, hash2);\n",
   "  if (!mrb_hash_p(hash2) && mrb_respond_to(mrb, hash2, mrb_intern_lit(mrb, \"to_hash\"))) {\n" \
   "    hash2 = mrb_funcall_argv(mrb, hash2, mrb_intern_lit(mrb, \"to_hash\"), 0, NULL);\n  }\n" \
   "  mrb_ensure_hash_type(mrb, hash2);\n"],
].freeze
