# Integer and Float in numeric.c: exact comparisons, division by numbers of the other kind, bits. Part of patch.rb.

# -1, 0, 1; or -3 where an Integer is compared with NaN. Both are taken for what they are, not for what they are near.
FLOAT_CMP = <<~'C'.freeze
  mrb_int
  fg_float_cmp(mrb_int x, mrb_float y)
  {
    if (isnan(y)) return -3;
    if (y >= -(mrb_float)MRB_INT_MIN) return -1;
    if (y < (mrb_float)MRB_INT_MIN) return 1;
    mrb_int whole = (mrb_int)y;
    mrb_float rest = y - (mrb_float)whole;
    if (x != whole) return x < whole ? -1 : 1;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
  }

C

# Which of the two a Float stands beside; see fg_float_cmp for -3.
CMPNUM = <<~'C'.freeze
  static mrb_int
  cmpnum(mrb_state *mrb, mrb_value v1, mrb_value v2)
  {
    mrb_int order;
  #ifdef MRB_USE_BIGINT
    if (mrb_bigint_p(v1)) return mrb_bint_cmp(mrb, v1, v2);
    if (mrb_bigint_p(v2)) {
      order = mrb_bint_cmp(mrb, v2, v1);
      return order < -1 ? order : -order;
    }
  #endif
    if (mrb_integer_p(v1)) {
      if (mrb_float_p(v2)) return fg_float_cmp(mrb_integer(v1), mrb_float(v2));
      if (!mrb_integer_p(v2)) return -2;
      return mrb_integer(v1) < mrb_integer(v2) ? -1 : mrb_integer(v1) > mrb_integer(v2);
    }
    mrb_float x = mrb_float(v1);
    if (mrb_integer_p(v2)) {
      order = fg_float_cmp(mrb_integer(v2), x);
      return order < -1 ? order : -order;
    }
    if (!mrb_float_p(v2)) return -2;
    if (isnan(x) || isnan(mrb_float(v2))) return -3;
    return x < mrb_float(v2) ? -1 : x > mrb_float(v2);
  }
C

# The count of a shift may be larger than any Integer of 64 bits.
WIDTH = <<~'C'.freeze
  static mrb_int
  shift_width(mrb_state *mrb, mrb_value width)
  {
  #ifdef MRB_USE_BIGINT
    if (mrb_bigint_p(width)) {
      return mrb_bint_cmp(mrb, width, mrb_fixnum_value(0)) < 0 ? -MRB_INT_MAX : MRB_INT_MAX;
    }
  #endif
    mrb_int count = mrb_as_int(mrb, width);
    return count == MRB_INT_MIN ? -MRB_INT_MAX : count;
  }

C

NUMERIC = [
  ["mrb_value\nmrb_int_pow(", "#{FLOAT_CMP}mrb_value\nmrb_int_pow("],
  ["  if (exp < 0) {\n", "  if (exp < 0 && base == 0) mrb_int_zerodiv(mrb);\n  if (exp < 0) {\n"],
  [/^int_idiv\([^;]*?\)\n\{\n\K/,
   "  mrb_value by = mrb_get_arg1(mrb);\n" \
   "  if (mrb_float_p(by)) {\n" \
   "    if (mrb_float(by) == 0) mrb_int_zerodiv(mrb);\n" \
   "    mrb_float quotient = floor(mrb_as_float(mrb, x) / mrb_float(by));\n" \
   "    mrb_check_num_exact(mrb, quotient);\n" \
   "    return mrb_float_to_integer(mrb, mrb_float_value(mrb, quotient));\n" \
   "  }\n" \
   "#ifdef MRB_USE_BIGINT\n" \
   "  if (mrb_bigint_p(by)) return mrb_bint_div(mrb, mrb_as_bint(mrb, x), by);\n#endif\n"],
  [/^flo_idiv\([^;]*?\)\n\{.*?^\}\n/m,
   "flo_idiv(mrb_state *mrb, mrb_value xv)\n{\n" \
   "  mrb_float y = mrb_as_float(mrb, mrb_get_arg1(mrb));\n" \
   "  if (y == 0) mrb_int_zerodiv(mrb);\n" \
   "  mrb_float quotient = floor(mrb_float(xv) / y);\n" \
   "  mrb_check_num_exact(mrb, quotient);\n" \
   "  return mrb_float_to_integer(mrb, mrb_float_value(mrb, quotient));\n}\n"],
  ["    return mrb_bool_value(mrb_bint_cmp(mrb, x, y) == 0);\n  }\n#endif\n#ifndef MRB_NO_FLOAT\n  if (mrb_float_p(x))",
   "    return mrb_bool_value(mrb_bigint_p(y) && mrb_bint_cmp(mrb, x, y) == 0);\n  }\n" \
   "#endif\n#ifndef MRB_NO_FLOAT\n  if (mrb_float_p(x))"],
  ["    return mrb_bool_value(mrb_float(x) == (mrb_float)mrb_integer(y));\n",
   "    return mrb_bool_value(fg_float_cmp(mrb_integer(y), mrb_float(x)) == 0);\n" \
   "#ifdef MRB_USE_BIGINT\n" \
   "  case MRB_TT_BIGINT:\n    return mrb_bool_value(mrb_bint_cmp(mrb, y, x) == 0);\n#endif\n"],
  ["int_equal(mrb_state *mrb, mrb_value x)\n{\n  mrb_value y = mrb_get_arg1(mrb);\n",
   "int_equal(mrb_state *mrb, mrb_value x)\n{\n  mrb_value y = mrb_get_arg1(mrb);\n" \
   "#ifdef MRB_USE_BIGINT\n" \
   "  if (mrb_bigint_p(x)) return mrb_bool_value(mrb_bint_cmp(mrb, x, y) == 0);\n" \
   "#endif\n"],
  ["  if (mod == 0) mod = 0.0;\n", ""],
  ["    return mrb_bool_value((mrb_float)mrb_integer(x) == mrb_float(y));\n",
   "    return mrb_bool_value(fg_float_cmp(mrb_integer(x), mrb_float(y)) == 0);\n"],
  ["  if (mrb_bigint_p(x)) {\n    return mrb_bint_mod(mrb, x, y);\n  }\n#endif\n  a = mrb_integer(x);\n" \
   "  if (a == 0) return x;\n",
   "  if (mrb_bigint_p(x) && !mrb_float_p(y)) return mrb_bint_mod(mrb, x, y);\n" \
   "  if (mrb_bigint_p(y)) return mrb_bint_mod(mrb, mrb_as_bint(mrb, x), y);\n#endif\n" \
   "  a = mrb_bigint_p(x) ? 0 : mrb_integer(x);\n"],
  ["  flodivmod(mrb, (mrb_float)a, mrb_as_float(mrb, y), NULL, &mod);\n",
   "  flodivmod(mrb, mrb_as_float(mrb, x), mrb_as_float(mrb, y), NULL, &mod);\n"],
  ["    return mrb_bint_divmod(mrb, x, y);\n  }\n#endif\n",
   "    return mrb_bint_divmod(mrb, x, y);\n  }\n" \
   "  if (mrb_bigint_p(y) || (mrb_integer_p(y) && mrb_integer(y) == -1)) {\n" \
   "    return mrb_bint_divmod(mrb, mrb_as_bint(mrb, x), y);\n  }\n#endif\n"],
  ["  return flo_divmod(mrb, x);\n#endif\n",
   "  return flo_divmod(mrb, mrb_float_value(mrb, (mrb_float)mrb_integer(x)));\n#endif\n"],
  ["  if (!FIXABLE_FLOAT(div))\n    a = mrb_float_value(mrb, div);\n" \
   "  else\n    a = mrb_int_value(mrb, (mrb_int)div);\n",
   "  mrb_check_num_exact(mrb, div);\n  a = flo_rounding_int(mrb, div);\n"],
  ["  return flo_ ## op1(mrb, mrb_float_value(mrb, (mrb_float)mrb_integer(x)));\\\n", "  bit_operand(mrb, y);\\\n"],
  ["static mrb_value\nint_rev(", "static mrb_noreturn void\nbit_operand(mrb_state *mrb, mrb_value y)\n{\n" \
   "  mrb_raisef(mrb, E_TYPE_ERROR, \"%Y can't be coerced into Integer\", y);\n}\n\n" \
   "static mrb_value\nint_rev("],
  *%w[and or xor].map do |name|
    ["  if (mrb_bigint_p(x)) {\n    return mrb_bint_#{name}(mrb, x, y);\n",
     "  if (mrb_bigint_p(x)) {\n    if (!mrb_integer_p(y) && !mrb_bigint_p(y)) bit_operand(mrb, y);\n" \
     "    return mrb_bint_#{name}(mrb, x, y);\n"]
  end,
  [/^static mrb_value\nint_lshift\(/, "#{WIDTH}static mrb_value\nint_lshift("],
  *%w[lshift rshift].map do |name|
    [/^int_#{name}\(.*?\K  width = mrb_as_int\(mrb, mrb_get_arg1\(mrb\)\);\n/m,
     "  width = shift_width(mrb, mrb_get_arg1(mrb));\n"]
  end,
  # A sign, 64 digits of base 2, and the end.
  ["  char buf[MRB_INT_BIT+1];\n  mrb_int val = mrb_integer(x);\n",
   "  char buf[MRB_INT_BIT+2];\n  mrb_int val = mrb_integer(x);\n"],
  [WHOLE["cmpnum"], CMPNUM],
  ["  if (n == -2) return mrb_nil_value();\n", "  if (n < -1) return mrb_nil_value();\n"],
  ["  if (n < 0) return mrb_true_value();\n", "  if (n == -1) return mrb_true_value();\n"],
  ["  if (n <= 0) return mrb_true_value();\n", "  if (n == -1 || n == 0) return mrb_true_value();\n"],
  ["    return cmpnum(mrb, obj1, obj2);\n",
   "    return cmpnum(mrb, obj1, obj2) < -1 ? -2 : cmpnum(mrb, obj1, obj2);\n"],
].freeze
