# What patch.rb changes for floats: the C library reads them. mruby's own reader makes 0.3 of 0.30000000000000004.

# The text may end in the middle of what strtod would take (1e, 0x1): mruby's callers have looked at it before.
READ_FLOAT = [
  ["mrb_read_float(const char *str, char **endp, double *fp)\n{\n",
   "mrb_read_float(const char *str, char **endp, double *fp)\n{\n" \
   "  const char *start = str;\n" \
   "  while (ISSPACE(*start)) start++;\n" \
   "  const char *digit = *start == '-' || *start == '+' ? start + 1 : start;\n" \
   "  if (ISDIGIT(*digit) && !(digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X'))) {\n" \
   "    char *end;\n" \
   "    *fp = strtod(start, &end);\n" \
   "    if (endp) *endp = end;\n" \
   "    return TRUE;\n" \
   "  }\n"],
  ["#include <mruby.h>\n", "#include <mruby.h>\n#include <stdlib.h>\n"],
].freeze
