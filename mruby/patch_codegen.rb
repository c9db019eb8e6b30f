# What patch.rb changes where mruby's compiler writes other code than the program says, or reads another name.

CODEGEN = {
  "mrbgems/mruby-compiler/core/codegen.c" => [
    # Many pairs behind a `**`, or so many that they come in parts: the last part made a Hash of its own.
    ["  if (val && len > limit) {\n    pop_n(len*2);\n    genop_2(s, OP_HASH, cursp(), len);\n",
     "  if (val && len > limit && !update) {\n    pop_n(len*2);\n    genop_2(s, OP_HASH, cursp(), len);\n"],
    # `v + (t = 1; 2)` is no 1 + 2: what was loaded last is the left operand only when it lies where that lies.
    ["if (addr_pc(s, data.addr) == s->lastlabel || !get_int_operand(s, &data0, &n0)) {\n      /* OP_ADDI",
     "if (addr_pc(s, data.addr) == s->lastlabel || !get_int_operand(s, &data0, &n0) || data0.a != dst) {\n" \
     "      /* OP_ADDI"],
    ["    if (!get_int_operand(s, &data0, &n0)) {\n      goto normal;\n",
     "    if (!get_int_operand(s, &data0, &n0) || data0.a != dst) {\n      goto normal;\n"],
    ["    if (!get_int_operand(s, &data0, &n0)) {\n      return FALSE;\n",
     "    if (!get_int_operand(s, &data0, &n0) || data0.a != dst) {\n      return FALSE;\n"],
    # A zero is added too: nil + 0 is an error, and a Time + 0 another Time.
    ["      if (n == 0) return;\n      if (n > 0) {\n", "      if (n >= 0) {\n"],
  ],
}.freeze

# `$-w` is a name, and `$_name` is not `$name`.
GLOBAL_NAMES = [
  ["      c = nextc(p);\n      pushback(p, c);\n      gvar:\n",
   "      c = nextc(p);\n      if (c >= 0 && identchar(c)) tokadd(p, c);\n      else pushback(p, c);\n      gvar:\n"],
  ["      if (c >= 0 && identchar(c)) { /* if there is more after _ it is a variable */\n        tokadd(p, '$');\n",
   "      if (c >= 0 && identchar(c)) { /* if there is more after _ it is a variable */\n" \
   "        tokadd(p, '$');\n        tokadd(p, '_');\n"],
].freeze
