# Integers of more than 64 bits, and comparisons of Integer and Float: mruby answers many of them wrongly without a word
# (`(2**100) & -1` is 0, `2**70 / 2.0` is a product, `1e20.to_i` is something else). What takes the place of whole
# functions is in bigint.c and bigint_numbers.c. Part of patch.rb.

# A function of C by its name, whole.
WHOLE = ->(name) { /^[a-z_ ]+\*?\n#{name}\([^;]*?\)[^\n]*\n\{.*?^\}\n/m }
ADDED = ->(name) { File.read(File.join(__dir__, name)).sub(%r{\A/\*.*?\*/\n}m, "") }

BIGINT = [
  # Numbers of more than 79 000 digits: one multiplication of such takes tens of milliseconds and cannot be interrupted;
  # for twice the digits it takes four times as long.
  ["mpz_realloc(mrb_state *mrb, mpz_t *x, size_t size)\n{\n",
   "mpz_realloc(mrb_state *mrb, mpz_t *x, size_t size)\n{\n" \
   "  if (size > 262144 / (8 * sizeof(mp_limb))) {\n" \
   "    mrb_raise(mrb, E_RANGE_ERROR, \"integer has more than 262144 bits\");\n  }\n"],
  ["#include <string.h>\n", "#include <string.h>\n#include <math.h>\n"],
  ["  for (;i<y->sz;i++)\n    y->p[i] = 0;\n", "  y->sz = k;\n"],
  [WHOLE["mpz_set_int"],
   "static void mpz_set_int(mrb_state *mrb, mpz_t *y, mrb_int v);\n"],
  # A limb of zero does not end the carry.
  ["      if (v0 == 0) continue;\n", ""],
  ["    y->p[i++] = (mp_limb)LOW(u);\n", "    y->p[i] = (mp_limb)LOW(u);\n"],
  [WHOLE["zero"], "static void\nzero(mpz_t *x)\n{\n  x->sn = 0;\n  x->sz = 0;\n}\n"],
  ["  urshift(mrb, rr, &x, ns);\n", "  urshift(mrb, rr, &x, ns);\n  trim(rr);\n"],
  [WHOLE["mpz_init_set_str"], ""], [WHOLE["mpz_get_int"], ""], [WHOLE["mpz_div_2exp"], ""], [WHOLE["mpz_mul_int"], ""],
  [WHOLE["mpz_or"], ""], [WHOLE["mpz_xor"], ""], [WHOLE["mpz_powm"], ""], [WHOLE["mpz_powm_i"], ""],
  [WHOLE["mpz_and"], ADDED["bigint.c"]],
  [WHOLE["mrb_bint_as_float"], ""], [WHOLE["mrb_bint_cmp"], ""],
  [WHOLE["mrb_bint_new_float"], "mrb_value mrb_as_bint(mrb_state*, mrb_value);\n"],
  ["/* --- mruby functions --- */\n", "#{ADDED["bigint_numbers.c"]}\n/* --- mruby functions --- */\n"],
  ["  if (sn < 0) {\n    b->mp.sn = sn;\n  }\n  return mrb_obj_value(b);\n",
   "  if (sn < 0) {\n    b->mp.sn = -b->mp.sn;\n  }\n  return bint_norm(mrb, b);\n"],
  [/^mrb_bint_div\(.*?\K    return mrb_float_value\(mrb,v1\*v2\);\n/m,
   "    extern mrb_float mrb_div_float(mrb_float, mrb_float);\n" \
   "    return mrb_float_value(mrb, mrb_div_float(v1, v2));\n"],
  [/^mrb_bint_mod\([^;]*?\)\n\{\n\K#ifndef MRB_NO_FLOAT.*?#endif\n/m, ""],
  *%w[and or xor].map { |name| [/^mrb_bint_#{name}\(.*?\K#ifndef MRB_NO_FLOAT.*?#endif\n/m, ""] },
  ["      struct RBigint *b3 = bint_new(mrb);\n      mpz_pow(",
   "      if (mrb_integer(y) < 0) {\n" \
   "        return mrb_float_value(mrb, pow(mrb_bint_as_float(mrb, x), (mrb_float)mrb_integer(y)));\n" \
   "      }\n" \
   "      struct RBigint *b3 = bint_new(mrb);\n      mpz_pow("],
  [/mrb_bint_pow\(.*?\K      return mrb_obj_value\(b3\);\n/m, "      return bint_norm(mrb, b3);\n"],
  ["mrb_byte_hash((uint8_t*)b->mp.p, b->mp.sz);",
   "mrb_byte_hash((uint8_t*)b->mp.p, b->mp.sz * sizeof(mp_limb));"],
].freeze
