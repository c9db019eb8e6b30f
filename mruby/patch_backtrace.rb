# What patch.rb changes for backtraces: until somebody asks for it, an exception's backtrace is a list of places in code,
# and mruby lets that code go. Code of a file or an eval is gone when the exception is reported, and was read all the same.

TRACE = [
  ["static const mrb_data_type bt_type = { \"Backtrace\", mrb_free };\n",
   "struct fg_trace {\n  size_t kept;\n  mrb_irep **ireps;                       /* each code once */\n" \
   "  struct backtrace_location *places;\n};\n\n" \
   "static void\nfree_trace(mrb_state *mrb, void *data)\n{\n  struct fg_trace *trace = (struct fg_trace*)data;\n" \
   "  if (trace == NULL) return;\n" \
   "  for (size_t i = 0; i < trace->kept; i++) mrb_irep_decref(mrb, trace->ireps[i]);\n" \
   "  mrb_free(mrb, trace->ireps);\n  mrb_free(mrb, trace->places);\n  mrb_free(mrb, trace);\n}\n\n" \
   "/* Neighbours are of the same few methods mostly: the search begins with what came last. */\nstatic void\n" \
   "keep_code(mrb_state *mrb, struct fg_trace *trace, const mrb_irep *irep)\n{\n  if (irep == NULL) return;\n" \
   "  for (size_t i = trace->kept; i > 0; i--) {\n    if (trace->ireps[i - 1] == irep) return;\n  }\n" \
   "  mrb_irep_incref(mrb, (mrb_irep*)irep);\n  trace->ireps[trace->kept++] = (mrb_irep*)irep;\n}\n\n" \
   "static const mrb_data_type bt_type = { \"Backtrace\", free_trace };\n"],
  ["    void *ptr = mrb_malloc(mrb, len * sizeof(struct backtrace_location));\n    backtrace->data = ptr;\n" \
   "    backtrace->flags = len;\n    each_backtrace(mrb, ciidx, pack_backtrace_i, &ptr);\n",
   "    struct fg_trace *trace = (struct fg_trace*)mrb_calloc(mrb, 1, sizeof(struct fg_trace));\n" \
   "    backtrace->data = trace;\n    backtrace->flags = 0;\n" \
   "    trace->places = (struct backtrace_location*)mrb_malloc(mrb, len * sizeof(struct backtrace_location));\n" \
   "    trace->ireps = (mrb_irep**)mrb_malloc(mrb, len * sizeof(mrb_irep*));\n" \
   "    void *ptr = trace->places;\n    each_backtrace(mrb, ciidx, pack_backtrace_i, &ptr);\n" \
   "    for (int i = 0; i < len; i++) keep_code(mrb, trace, trace->places[i].irep);\n" \
   "    backtrace->flags = len;\n"],
  ["  bt = (struct backtrace_location*)mrb_data_check_get_ptr(mrb, mrb_obj_value(backtrace), &bt_type);\n" \
   "  if (bt == NULL) goto empty_backtrace;\n",
   "  const struct fg_trace *trace =\n" \
   "    (const struct fg_trace*)mrb_data_check_get_ptr(mrb, mrb_obj_value(backtrace), &bt_type);\n" \
   "  if (trace == NULL) goto empty_backtrace;\n  bt = trace->places;\n"],
].freeze
