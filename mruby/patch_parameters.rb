# `parameters` and `arity` of methods and procs: mruby names keywords wrongly, leaves them out of the arity, and reads
# what is not there of a method that is an alias. What takes their place is in parameters.c. Part of patch.rb.

PARAMETERS = {
  "src/proc.c" => [
    ["#include <mruby/presym.h>\n", "#include <mruby/presym.h>\n#include <mruby/string.h>\n#include <string.h>\n"],
    [/^MRB_API mrb_int\nmrb_proc_arity\(.*?^\}\n|^mrb_int\nmrb_proc_arity\(.*?^\}\n/m,
     File.read(File.join(__dir__, "parameters.c")).sub(%r{\A/\*}, "\n/*")],
  ],
  "src/class.c" => [
    ["static mrb_value\nattr_writer(mrb_state *mrb, mrb_value obj)\n{\n",
     "static mrb_value attr_writer(mrb_state *mrb, mrb_value obj);\n\n" \
     "int\nfg_attribute_arity(const struct RProc *p)\n{\n" \
     "  return p->body.func == attr_reader ? 0 : p->body.func == attr_writer ? 1 : -1;\n}\n\n" \
     "static mrb_value\nattr_writer(mrb_state *mrb, mrb_value obj)\n{\n"],
  ],
  "mrbgems/mruby-proc-ext/src/proc.c" => [
    [/^(?:static )?mrb_value\nmrb_proc_parameters\(.*?^\}\n/m,
     "mrb_value fg_parameters(mrb_state *mrb, const struct RProc *p, mrb_bool strict);\n\n" \
     "mrb_value\nmrb_proc_parameters(mrb_state *mrb, mrb_value self)\n{\n" \
     "  const struct RProc *p = mrb_proc_ptr(self);\n" \
     "  while (MRB_PROC_ALIAS_P(p)) p = p->upper;\n" \
     "  return fg_parameters(mrb, p, MRB_PROC_STRICT_P(p) != 0);\n}\n\n" \
     "static mrb_value\nproc_parameters(mrb_state *mrb, mrb_value self)\n{\n" \
     "  mrb_sym name = mrb_intern_lit(mrb, \"lambda\");\n" \
     "  mrb_value as;\n" \
     "  mrb_kwargs named = { 1, 0, &name, &as, NULL };\n" \
     "  mrb_get_args(mrb, \":\", &named);\n" \
     "  if (mrb_undef_p(as) || mrb_nil_p(as)) return mrb_proc_parameters(mrb, self);\n" \
     "  return fg_parameters(mrb, mrb_proc_ptr(self), mrb_test(as));\n}\n"],
    [/mrb_define_method\(mrb, p, "parameters",\s+mrb_proc_parameters,\s+MRB_ARGS_NONE\(\)\);/,
     "mrb_define_method(mrb, p, \"parameters\", proc_parameters, MRB_ARGS_KEY(1, 0));"],
  ],
}.freeze
