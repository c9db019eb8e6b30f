# Adds call-outs to mruby's source, so that `$!`, a bare `raise` and `Exception#cause` can work as in CRuby; and
# reads floats with the C library, which rounds correctly, where mruby's own reader makes 0.3 of 0.30000000000000004;
# and hashes strings eight bytes at a time with a secret seed, where mruby goes byte by byte and everybody can collide;
# and lets the parser know whose a `do` is, where mruby loses count after interpolations and brackets (patch_parser.rb);
# and lets strings be bytes (patch_binary.rb), symbols be many (patch_symbols.rb), large Integers right (patch_num*.rb);
# and makes room for private methods, ruby2_keywords, keywords of blocks, autoload, `defined?`, patterns (patch_*.rb).
# Usage: ruby patch.rb SOURCE_FOLDER [--stress]. Refuses to guess: each place must be found exactly once.

Dir[File.join(__dir__, "patch_*.rb")].sort.each { |part| require part }

# What both forms of the parser get.
PARSER = [
  INTERPOLATION, COMMAND, VOID, KNOWN_KEYWORDS, BARE_INTERPOLATION, RAW_HEREDOC,
  ENDLESS, BLOCK_VARIABLE, COMMA, DEFINED, LITERALS, NUMBERED, YIELD, NO_KEYWORDS, CONTROL_PARSER, LETTERS,
  GLOBAL_NAMES, RESERVED, ALIAS_GLOBALS
].flatten(1).freeze

CHANGES = {
  # The virtual machine hands an exception to a rescue or ensure clause: remember which, and where the clause is.
  "src/vm.c" => [
    ["      regs[a] = exc;\n      NEXT;\n",
     "      regs[a] = exc;\n      if (fg_on_except) fg_on_except(mrb, pc, a, exc);\n      NEXT;\n"],
    ["#define CODE_FETCH_HOOK(mrb, irep, pc, regs) if",
     "extern void (*fg_on_except)(mrb_state*, const mrb_code*, int, mrb_value);\n" \
     "#define CODE_FETCH_HOOK(mrb, irep, pc, regs) if"],
    *MISSING_BLOCK, *VISIBILITY_VM, *KEYWORDS_VM, *OWN_INDEX, *COMPARE_VM, *STEP_VM,
  ],
  "include/mruby.h" => CALLINFO + SYMBOL_STATE,
  "src/symbol.c" => SYMBOL_TABLE,
  "src/backtrace.c" => TRACE,
  "include/mruby/proc.h" => PROC_FLAGS,
  "include/mruby/compile.h" => PARSER_STATE,
  "include/mruby/hash.h" => HASH_FLAGS,
  "src/class.c" => VISIBILITY_CLASS + AUTOLOAD_CLASS + CLASS_NEW,
  "src/kernel.c" => VISIBILITY_KERNEL,
  "src/numeric.c" => NUMERIC,
  "src/object.c" => COMPARE_OBJECT,
  "mrbgems/mruby-numeric-ext/src/numeric_ext.c" => NUMERIC_EXT,
  # An exception is raised for the first time: its cause is the one being handled at that moment.
  "src/error.c" => [
    ["void\nmrb_exc_set(mrb_state *mrb, mrb_value exc)\n{\n",
     "void (*fg_on_raise)(mrb_state*, mrb_value);\n" \
     "void (*fg_on_except)(mrb_state*, const mrb_code*, int, mrb_value);\n" \
     "void\nmrb_exc_set(mrb_state *mrb, mrb_value exc)\n{\n" \
     "  if (fg_on_raise && !mrb_nil_p(exc)) fg_on_raise(mrb, exc);\n"],
  ],
  # A global variable is read: some have no storage of their own.
  "src/variable.c" => [
    ["mrb_gv_get(mrb_state *mrb, mrb_sym sym)\n{\n  mrb_value v;\n",
     "mrb_gv_get(mrb_state *mrb, mrb_sym sym)\n{\n  mrb_value v;\n\n" \
     "  if (fg_on_gv_get && fg_on_gv_get(mrb, sym, &v)) return v;\n"],
    ["MRB_API mrb_value\nmrb_gv_get(",
     "int (*fg_on_gv_get)(mrb_state*, mrb_sym, mrb_value*);\nMRB_API mrb_value\nmrb_gv_get("],
    *AUTOLOAD_VARIABLE,
    *SAFE_INSPECT,
  ],
  # The values of a copied hash are replaced in the order of its keys, without hashing any: the environment of a request
  # has the same keys as that of the one before.
  "src/hash.c" => [
    *IDENTITY_HASH,
    ["MRB_API mrb_value\nmrb_hash_new(mrb_state *mrb)\n{\n",
     "void fg_hash_fill(mrb_state *mrb, mrb_value hash, const mrb_value *values, uint32_t count)\n{\n" \
     "  struct RHash *filled = mrb_hash_ptr(hash);\n" \
     "  h_each(filled, entry, {\n" \
     "    if (count-- == 0) break;\n" \
     "    entry->val = *values++;\n" \
     "  });\n" \
     "  mrb_write_barrier(mrb, (struct RBasic*)filled);\n" \
     "}\n\n" \
     "MRB_API mrb_value\nmrb_hash_new(mrb_state *mrb)\n{\n"],
  ],
  # Each step multiplies to 128 bits and folds the halves together.
  "src/string.c" => [
    ["uint32_t\nmrb_byte_hash_step(const uint8_t *s, mrb_int len, uint32_t hval)\n{\n",
     "uint64_t fg_hash_seed = 0x2545f4914f6cdd1d;\n" \
     "uint32_t\nmrb_byte_hash_step(const uint8_t *s, mrb_int len, uint32_t hval)\n{\n" \
     "#ifdef __SIZEOF_INT128__\n" \
     "  uint64_t hash = fg_hash_seed ^ hval ^ ((uint64_t)len << 32), word;\n" \
     "  while (len > 0) {\n" \
     "    size_t part = len < 8 ? (size_t)len : 8;\n" \
     "    word = 0;\n" \
     "    if (part == 8) memcpy(&word, s, 8); else memcpy(&word, s, part);\n" \
     "    unsigned __int128 wide = (unsigned __int128)(hash ^ word) * 0xd6e8feb86659fd93u;\n" \
     "    hash = (uint64_t)wide ^ (uint64_t)(wide >> 64);\n" \
     "    s += part;\n" \
     "    len -= (mrb_int)part;\n" \
     "  }\n" \
     "  return (uint32_t)(hash ^ (hash >> 32));\n" \
     "#endif\n"],
    # Searching must not take the product of both lengths: it cannot be interrupted either. Found in the middle of a
    # character is not found.
    ["  /* Based on Quick Search algorithm (Boyer-Moore-Horspool algorithm) */\n",
     "  extern void *memmem(const void*, size_t, const void*, size_t);\n" \
     "  for (;;) {\n" \
     "    const char *at = NULL;\n" \
     "    if (p < pend) at = (const char*)memmem(p, (size_t)(pend - p), s, (size_t)slen);\n" \
     "    if (at == NULL) return -1;\n" \
     "    for (; p < at; off++) p += mrb_utf8len(p, pend);\n" \
     "    if (p == at) return off;\n" \
     "  }\n"],
    ["  return mrb_memsearch_qs((const unsigned char*)x0, m, (const unsigned char*)y0, n);\n",
     "  extern void *memmem(const void*, size_t, const void*, size_t);\n" \
     "  const unsigned char *at = (const unsigned char*)memmem(y0, (size_t)n, x0, (size_t)m);\n" \
     "  return at ? (mrb_int)(at - y) : -1;\n"],
    # A byte that begins no character is one of its own. It had no length, and String#reverse went round for ever.
    ["  if (len > e - p) return 1;\n  switch (len) {\n  case 1:\n",
     "  if (len == 0 || len > e - p) return 1;\n  switch (len) {\n  case 1:\n"],
    # An integer of more than 64 bits ends where its digits end, not where they were found to be too many.
    ["trailingbad(str, p, pend)) goto bad;\n      return mrb_bint_new_str",
     "trailingbad(str, p3, pend)) goto bad;\n      return mrb_bint_new_str"],
    # The smallest of 64 bits is that only when no digit follows.
    ["if (sign == 0 && MRB_INT_MAX - n == c - 1) {\n        n = MRB_INT_MIN;\n        sign = 1;\n",
     "if (sign == 0 && MRB_INT_MAX - n == c - 1 && p + 1 == pend) {\n" \
     "        n = MRB_INT_MIN;\n        sign = 1;\n        p++;\n"],
    # Two underscores in a row end a number of any size.
    ["        if (p4 == NULL && c != '_') break;\n",
     "        if (c == '_' ? p3 + 1 < pend && p3[1] == '_' : p4 == NULL) break;\n"],
  ],
  "mrbgems/mruby-bigint/core/bigint.c" => BIGINT,
  "src/readfloat.c" => READ_FLOAT,
  # The grammar first: were it the newer of the two, the build would want to make the other from it, with bison.
  "mrbgems/mruby-compiler/core/parse.y" => PARSER + GRAMMAR + COMMA_GRAMMAR + MATCH_GRAMMAR + RESERVED_GRAMMAR +
    CONTROL_GRAMMAR,
  "mrbgems/mruby-compiler/core/y.tab.c" => PARSER + GENERATED + COMMA_GENERATED + MATCH_GENERATED + RESERVED_GENERATED +
    CONTROL_GENERATED,
  # In this order: some change what others have put in.
}.merge(LAST_MATCH, BINARY, PARAMETERS, CALLS, CONVERT, *ANSWERS, MESSAGES, WORDS, LIBRARY,
        OPERATORS, VARIABLES, CONTROL, CONSTANTS, ARRAYS) { |_, one, other| one + other }

root = ARGV.shift or abort "usage: ruby patch.rb SOURCE_FOLDER [--stress]"
changes = ARGV.include?("--stress") ? CHANGES.merge(STRESS) { |_, one, other| one + other } : CHANGES
changes.each do |path, places|
  file = File.join(root, path)
  text = File.read(file)
  places.each do |from, to|
    count = text.scan(from).length
    abort "patch.rb: #{path}: expected one place like #{from.inspect}, found #{count}" unless count == 1
    text = text.sub(from) { to }
  end
  File.write(file, text)
end
