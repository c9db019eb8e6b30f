# What patch.rb changes with --stress, for bin/gc-stress: a full collection at every so many new objects, as GC_STRESS in
# the environment says. What C or Rust holds without mruby's knowing is gone then, and not only once a month.

STRESS = {
  "src/gc.c" => [
    ["#ifdef MRB_GC_STRESS\n  mrb_full_gc(mrb);\n#endif\n  if (gc->threshold",
     "  static long every = -1, count;\n" \
     "  if (every < 0) {\n    const char *wanted = getenv(\"GC_STRESS\");\n    every = wanted ? atol(wanted) : 0;\n  }\n" \
     "  if (every > 0 && ++count % every == 0) mrb_full_gc(mrb);\n  if (gc->threshold"],
    ["#include <mruby/presym.h>\n", "#include <mruby/presym.h>\n#include <stdlib.h>\n"],
  ],
}.freeze
