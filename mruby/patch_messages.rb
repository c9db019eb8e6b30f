# What patch.rb changes so that errors say what CRuby's say: applications show messages to people, and compare them.
# None of it is reached before something has gone wrong.

# As error messages name an operand that is no object of its own: by its value, else by its class.
OPERAND = <<~C.freeze
  mrb_noreturn static void
  fg_not_coerced(mrb_state *mrb, mrb_value y, const char *into)
  {
    mrb_value kind = mrb_str_new_cstr(mrb, into);
    mrb_bool plain = mrb_symbol_p(y) || !mrb_test(y) || mrb_true_p(y);
    mrb_value shown = plain ? mrb_inspect(mrb, y) : mrb_class_path(mrb, mrb_obj_class(mrb, y));
    mrb_raisef(mrb, E_TYPE_ERROR, "%v can't be coerced into %v", shown, kind);
  }

  /* An operand of an operator, in a function of this name. */
  static mrb_float
  fg_operand(mrb_state *mrb, mrb_value y, const char *function)
  {
    switch (mrb_type(y)) {
    case MRB_TT_INTEGER: return (mrb_float)mrb_integer(y);
    case MRB_TT_FLOAT: return mrb_float(y);
    case MRB_TT_BIGINT: return mrb_as_float(mrb, y);
    default: fg_not_coerced(mrb, y, strncmp(function, "flo", 3) == 0 ? "Float" : "Integer");
    }
  }
  #undef mrb_as_float
  #define mrb_as_float(mrb, y) fg_operand(mrb, y, __func__)

C

FROZEN = <<~C.freeze
  static mrb_value
  fg_inspected(mrb_state *mrb, void *value)
  {
    return mrb_inspect(mrb, *(mrb_value*)value);
  }

  /* With what cannot be changed, as far as that can be said: `inspect` may itself run into this. */
  static mrb_noreturn void
  frozen_error(mrb_state *mrb, mrb_value v)
  {
    static __thread int inside;
    mrb_bool failed = TRUE;
    mrb_value shown = mrb_nil_value();
    if (!inside) {
      inside = 1;
      shown = mrb_protect_error(mrb, fg_inspected, &v, &failed);
      inside = 0;
    }
    mrb_value text = failed ? mrb_format(mrb, "can't modify frozen %T", v)
                            : mrb_format(mrb, "can't modify frozen %T: %v", v, shown);
    mrb_value exc = mrb_exc_new_str(mrb, E_FROZEN_ERROR, text);
    mrb_iv_set(mrb, exc, mrb_intern_lit(mrb, "@receiver"), v);
    mrb_exc_raise(mrb, exc);
  }
C

COMPARED = <<~C.freeze
    switch (mrb_type(v2)) {
    case MRB_TT_FALSE: case MRB_TT_TRUE: case MRB_TT_INTEGER: case MRB_TT_FLOAT: case MRB_TT_SYMBOL:
      mrb_raisef(mrb, E_ARGUMENT_ERROR, "comparison of %t with %!v failed", v1, v2);
    default:
      mrb_raisef(mrb, E_ARGUMENT_ERROR, "comparison of %t with %t failed", v1, v2);
    }
C

ENSURE = %w[String Array Hash].map do |name|
  value = { "String" => "str", "Array" => "ary", "Hash" => "hash" }.fetch(name)
  ["\"%Y cannot be converted to #{name}\", #{value}", "\"no implicit conversion of %Y into #{name}\", #{value}"]
end.freeze

MESSAGES = {
  "src/object.c" => [
    *ENSURE,
    ["    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", val);\n",
     "    if (mrb_nil_p(val)) mrb_raise(mrb, E_TYPE_ERROR, \"no implicit conversion from nil to integer\");\n" \
     "    mrb_raisef(mrb, E_TYPE_ERROR, \"no implicit conversion of %Y into Integer\", val);\n"],
    ["\"%Y cannot be converted to Float\"", "\"can't convert %Y into Float\""],
    ["      if (tname) mrb_raisef(mrb, E_TYPE_ERROR, \"can't convert %Y into %s\", val, tname);\n",
     "      if (tname && mrb_nil_p(val)) " \
     "mrb_raisef(mrb, E_TYPE_ERROR, \"no implicit conversion of nil into %s\", tname);\n" \
     "      if (tname) mrb_raisef(mrb, E_TYPE_ERROR, \"no implicit conversion of %Y into %s\", val, tname);\n"],
  ],
  "src/numeric.c" => [
    ["static mrb_noreturn void\nmrb_int_noconv(", "#{OPERAND}static mrb_noreturn void\nmrb_int_noconv("],
    ["  mrb_raisef(mrb, E_TYPE_ERROR, \"can't convert %Y into Integer\", y);\n",
     "  fg_not_coerced(mrb, y, \"Integer\");\n"],
    ["    exp = mrb_as_int(mrb, y);\n",
     "    if (FG_FOREIGN(y)) fg_not_coerced(mrb, y, \"Integer\");\n" \
     "    exp = mrb_as_int(mrb, y);\n"],
    ["    mrb_raise(mrb, E_TYPE_ERROR, \"cannot convert to Integer\");\n",
     "    fg_not_coerced(mrb, x, \"Integer\");\n"],
    ["    mrb_raisef(mrb, E_RANGE_ERROR, \"float %f out of range\", f);\n",
     "    mrb_raise(mrb, mrb_class_get(mrb, \"FloatDomainError\"), isnan(f) ? \"NaN\" : " \
     "f > 0 ? \"Infinity\" : \"-Infinity\");\n"],
    ["  mrb_raisef(mrb, E_ARGUMENT_ERROR, \"comparison of %t with %t failed\", v1, v2);\n", COMPARED],
  ],
  "src/error.c" => [
    ["static mrb_noreturn void\nfrozen_error(mrb_state *mrb, mrb_value v)\n{\n" \
     "  mrb_raisef(mrb, E_FROZEN_ERROR, \"can't modify frozen %T\", v);\n}\n", FROZEN],
  ],
  "src/class.c" => [
    ["\"missing keyword: %n\", *kname", "\"missing keyword: :%n\", *kname"],
    ["\"unknown keyword: %v\", ksrc", "\"unknown keyword: %!v\", ksrc"],
    ["\"%v is not class/module\"", "\"%!v is not a class/module\""],
  ],
  "src/vm.c" => [
    ["\"missing keyword: %v\", k)", "\"missing keyword: %!v\", k)"],
    ["\"unknown keyword: %v\", key1)", "\"unknown keyword: %!v\", key1)"],
  ],
  "src/array.c" => [
    ["\"index %i out of array\", n - len)", "\"index %i too small for array; minimum: -%i\", n - len, len)"],
  ],
  "src/variable.c" => [
    ["    mrb_raise(mrb, E_ARGUMENT_ERROR, \"cannot set instance variable\");\n",
     "    mrb_frozen_error(mrb, mrb_obj_ptr(obj));\n"],
  ],
  "src/string.c" => [
    ["    mrb_raise(mrb, E_TYPE_ERROR, \"expected String\");\n",
     "    if (mrb_nil_p(spat)) mrb_raise(mrb, E_TYPE_ERROR, \"wrong argument type nil (expected Regexp)\");\n" \
     "    mrb_raisef(mrb, E_TYPE_ERROR, \"wrong argument type %T (expected Regexp)\", spat);\n"],
    ["\"invalid string for number(%!l)\", str, pend-str", "\"invalid value for Integer(): %!l\", str, pend-str"],
    ["\"invalid string for float(%!s)\"", "\"invalid value for Float(): %!s\""],
    ["        mrb_raisef(mrb, E_ARGUMENT_ERROR, \"illegal radix %i\", base);\n      }\n",
     "        mrb_raisef(mrb, E_ARGUMENT_ERROR, \"invalid radix %i\", base);\n      }\n"],
    ["    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"illegal radix %i\", base);\n  }\n",
     "    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"invalid radix %i\", base);\n  }\n"],
  ],
  "mrbgems/mruby-bigint/core/bigint.c" => [
    ["mrb_raisef(mrb, E_TYPE_ERROR, \"%v cannot be convert to integer\", y)",
     "mrb_raisef(mrb, E_TYPE_ERROR, \"%Y can't be coerced into Integer\", y)"],
  ],
  "mrbgems/mruby-kernel-ext/src/kernel.c" => [
    ["  /* to raise TypeError */\n",
     "  if (mrb_type(val) != MRB_TT_BIGINT) {\n" \
     "    mrb_raisef(mrb, E_TYPE_ERROR, \"can't convert %Y into Integer\", val);\n  }\n"],
  ],
  "mrbgems/mruby-fiber/src/fiber.c" => [
    ["fiber_error(mrb, \"resuming dead fiber\")", "fiber_error(mrb, \"attempt to resume a terminated fiber\")"],
  ],
  "mrbgems/mruby-string-ext/src/string.c" => [
    ["\"invalid UTF-8 byte sequence\"", "\"invalid byte sequence in UTF-8\""],
  ],
}.freeze
