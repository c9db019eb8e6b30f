# What patch.rb changes in mruby's arithmetic for numbers of other classes: Integer and Float ask what they do not know
# for `coerce`, or whether it equals them. Part of patch.rb.

COERCE_C = <<~'C'.freeze
  #define FG_FOREIGN(y) (!mrb_integer_p(y) && !mrb_float_p(y) && !mrb_bigint_p(y))

  /* The operation that is under way, of the two that `coerce` gives. */
  static mrb_value
  fg_coerce(mrb_state *mrb, mrb_value x, mrb_value y)
  {
    mrb_sym operation = mrb->c->ci->mid, coerce = mrb_intern_lit(mrb, "coerce");

    if (!mrb_respond_to(mrb, y, coerce)) fg_not_coerced(mrb, y, mrb_float_p(x) ? "Float" : "Integer");
    mrb_value pair = mrb_funcall_argv(mrb, y, coerce, 1, &x);
    if (!mrb_array_p(pair) || RARRAY_LEN(pair) != 2) mrb_raise(mrb, E_TYPE_ERROR, "coerce must return [x, y]");
    return mrb_funcall_argv(mrb, RARRAY_PTR(pair)[0], operation, 1, &RARRAY_PTR(pair)[1]);
  }

  static mrb_bool
  fg_coerces(mrb_state *mrb, mrb_value y)
  {
    return FG_FOREIGN(y) && mrb_respond_to(mrb, y, mrb_intern_lit(mrb, "coerce"));
  }

  static mrb_value
  flo_next(mrb_state *mrb, mrb_value x)
  {
    return mrb_float_value(mrb, nextafter(mrb_float(x), INFINITY));
  }

  static mrb_value
  flo_prev(mrb_state *mrb, mrb_value x)
  {
    return mrb_float_value(mrb, nextafter(mrb_float(x), -INFINITY));
  }

C

asks = lambda do |name, x, y|
  [/^#{name}\([^;]*?\)\n\{\n(?:(?!^\}).)*?  mrb_value #{y} = mrb_get_arg1\(mrb\);\n\K/m,
   "  if (FG_FOREIGN(#{y})) return fg_coerce(mrb, #{x}, #{y});\n"]
end

COERCE = {
  "src/numeric.c" => [
    ["mrb_value\nmrb_int_pow(", "#{COERCE_C}mrb_value\nmrb_int_pow("],
    *%w[flo_pow int_div flo_div flo_add flo_sub flo_mul flo_mod int_mul int_mod int_divmod flo_divmod].map do |name|
      asks[name, "x", "y"]
    end,
    *%w[int_add int_sub].map { |name| asks[name, "self", "other"] },
    ["  return mrb_int_pow(mrb, x, mrb_get_arg1(mrb));\n",
     "  mrb_value y = mrb_get_arg1(mrb);\n  if (FG_FOREIGN(y)) return fg_coerce(mrb, x, y);\n" \
     "  return mrb_int_pow(mrb, x, y);\n"],
    [/^num_cmp\(.*?\K  if \(n < -1\) return mrb_nil_value\(\);\n/m,
     "  if (n < -1) return fg_coerces(mrb, other) ? fg_coerce(mrb, self, other) : mrb_nil_value();\n"],
    *%w[num_lt num_le num_gt num_ge].map do |name|
      [/^#{name}\(.*?\K  if \(n == -2\)/m,
       "  if (n == -2 && fg_coerces(mrb, other)) return fg_coerce(mrb, self, other);\n  if (n == -2)"]
    end,
    # An object that is no number is asked whether it equals one.
    *%w[flo_eq int_equal].map do |name|
      [/^#{name}\(.*?\K  mrb_value y = mrb_get_arg1\(mrb\);\n/m,
       "  mrb_value y = mrb_get_arg1(mrb);\n" \
       "  if (mrb_type(y) == MRB_TT_OBJECT) return mrb_bool_value(mrb_equal(mrb, y, x));\n"]
    end,
    [/^  mrb_define_method_id\(mrb, fl, +MRB_OPSYM\(add\)/,
     "  mrb_define_method(mrb, fl, \"next_float\", flo_next, MRB_ARGS_NONE());\n" \
     "  mrb_define_method(mrb, fl, \"prev_float\", flo_prev, MRB_ARGS_NONE());\n" \
     "  mrb_define_method_id(mrb, fl, MRB_OPSYM(add)"],
  ],
}.freeze
