# Where Integer meets Float and large Integers outside numeric.c: comparisons of the virtual machine (the cast to Float
# is exact up to 2 ** 53 only), `==` of C, and the methods of mruby-numeric-ext. Part of patch.rb.

COMPARE_VM = [
  ["#define OP_CMP_BODY(op,v1,v2)",
   "#define FG_INEXACT(v) ((mrb_uint)mrb_integer(v) + ((mrb_uint)1 << 53) > (mrb_uint)1 << 54)\n" \
   "#define OP_CMP_BODY(op,v1,v2)"],
  ["  case TYPES2(MRB_TT_INTEGER,MRB_TT_FLOAT):\\\n    result",
   "  case TYPES2(MRB_TT_INTEGER,MRB_TT_FLOAT):\\\n" \
   "    if (FG_INEXACT(regs[a])) { mid = MRB_OPSYM(sym); goto L_SEND_SYM; }\\\n    result"],
  ["  case TYPES2(MRB_TT_FLOAT,MRB_TT_INTEGER):\\\n    result",
   "  case TYPES2(MRB_TT_FLOAT,MRB_TT_INTEGER):\\\n" \
   "    if (FG_INEXACT(regs[a+1])) { mid = MRB_OPSYM(sym); goto L_SEND_SYM; }\\\n    result"],
].freeze

# `x += 1` on a local variable of any other kind (a large Integer, a Time): the call's argument and block were put into
# the registers behind it, which are the next local variables.
STEP_VM = [
  ["    default:                                                                \\\n" \
   "      SET_INT_VALUE(mrb,regs[a+1], b);                                      \\\n",
   "    default:                                                                \\\n" \
   "      if (a < irep->nlocals) {                                              \\\n" \
   "        mrb_value step = mrb_fixnum_value(b);                               \\\n" \
   "        step = mrb_funcall_argv(mrb, regs[a], MRB_OPSYM(op_name), 1, &step);\\\n" \
   "        regs[a] = step;                                                     \\\n" \
   "        mrb_gc_arena_restore(mrb, ai);                                      \\\n" \
   "        break;                                                              \\\n" \
   "      }                                                                     \\\n" \
   "      SET_INT_VALUE(mrb,regs[a+1], b);                                      \\\n"],
].freeze

COMPARE_OBJECT = [
  ["MRB_API mrb_bool\nmrb_equal(", "mrb_int fg_float_cmp(mrb_int, mrb_float);\nMRB_API mrb_bool\nmrb_equal("],
  ["    if ((mrb_float)mrb_integer(obj1) == mrb_float(obj2))\n",
   "    if (fg_float_cmp(mrb_integer(obj1), mrb_float(obj2)) == 0)\n"],
  ["    if (mrb_float(obj1) == (mrb_float)mrb_integer(obj2))\n",
   "    if (fg_float_cmp(mrb_integer(obj2), mrb_float(obj1)) == 0)\n"],
].freeze

# Integer#fdiv and Integer#bit_length are ours; the rest of them is in ruby/numeric.rb.
NUMERIC_EXT = [
  ["  a = mrb_integer(x);\n  if (mrb_integer_p(y)) {\n",
   "  if (mrb_bigint_p(y)) return mrb_bint_rem(mrb, mrb_as_bint(mrb, x), y);\n" \
   "  a = mrb_integer(x);\n  if (mrb_integer_p(y)) {\n"],
  ["  if (b == 0) mrb_int_zerodiv(mrb);\n  if (isinf(b)) return mrb_float_value(mrb, a);\n" \
   "  return mrb_float_value(mrb, a-b*trunc(a/b));\n",
   "  return mrb_float_value(mrb, fmod(a, b));\n"],
  ["#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    return mrb_bint_powm(mrb, x, e, m);\n",
   "#ifdef MRB_USE_BIGINT\n" \
   "  if (!mrb_integer_p(m) && !mrb_bigint_p(m)) {\n" \
   "    mrb_raise(mrb, E_TYPE_ERROR, \"Integer#pow() 2nd argument not allowed unless all arguments are integers\");\n" \
   "  }\n" \
   "  if (mrb_bigint_p(x)) {\n    return mrb_bint_powm(mrb, x, e, m);\n"],
  ["  if (mrb_bigint_p(e) || mrb_bigint_p(m)) {\n",
   "  if (mrb_bigint_p(e) || mrb_bigint_p(m) || mrb_integer(m) < 0 || mrb_integer(x) < 0) {\n"],
  ["/*\n *  call-seq:\n *    digits(base = 10)",
   "mrb_float fg_bint_fdiv(mrb_state*, mrb_value, mrb_value);\n" \
   "mrb_int fg_bint_length(mrb_state*, mrb_value);\n\n" \
   "static mrb_value\nint_fdiv(mrb_state *mrb, mrb_value x)\n{\n" \
   "  mrb_value y = mrb_get_arg1(mrb);\n" \
   "  if ((mrb_bigint_p(x) || mrb_integer(x) != 0) &&\n" \
   "      (mrb_bigint_p(y) || (mrb_integer_p(y) && mrb_integer(y) != 0))) {\n" \
   "    mrb_int most = (mrb_int)1 << 53;\n" \
   "    if (mrb_bigint_p(x) || mrb_bigint_p(y) || mrb_integer(x) > most || mrb_integer(x) < -most ||\n" \
   "        mrb_integer(y) > most || mrb_integer(y) < -most) {\n" \
   "      return mrb_float_value(mrb, fg_bint_fdiv(mrb, x, y));\n" \
   "    }\n" \
   "  }\n" \
   "  if (!mrb_bigint_p(y) && !mrb_integer_p(y) && !mrb_float_p(y)) {\n" \
   "    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y can't be coerced into Integer\", y);\n  }\n" \
   "  return mrb_float_value(mrb, mrb_as_float(mrb, x) / mrb_as_float(mrb, y));\n}\n\n" \
   "static mrb_value\nint_bit_length(mrb_state *mrb, mrb_value x)\n{\n" \
   "  if (mrb_bigint_p(x)) return mrb_int_value(mrb, fg_bint_length(mrb, x));\n" \
   "  mrb_int n = mrb_integer(x), bits = 0;\n" \
   "  for (mrb_uint u = (mrb_uint)(n < 0 ? ~n : n); u; u >>= 1) bits++;\n" \
   "  return mrb_int_value(mrb, bits);\n}\n\n" \
   "/*\n *  call-seq:\n *    digits(base = 10)"],
  ["  mrb_define_alias(mrb, ic, \"modulo\", \"%\");\n",
   "  mrb_define_alias(mrb, ic, \"modulo\", \"%\");\n" \
   "  mrb_define_method(mrb, ic, \"fdiv\", int_fdiv, MRB_ARGS_REQ(1));\n" \
   "  mrb_define_method(mrb, ic, \"bit_length\", int_bit_length, MRB_ARGS_NONE());\n"],
].freeze
