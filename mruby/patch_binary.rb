# What patch.rb changes for strings of bytes: a flag beside mruby's own (which says that the bytes happen to be ASCII,
# and is forgotten at every change) says that each byte is a character, whatever it looks like. It stays with the string
# and goes to its copies and parts. Without it, random bytes that look like UTF-8 would be counted and cut as such.

BINARY = {
  "include/mruby/string.h" => [
    ["# define RSTR_ASCII_P(s) ((s)->flags & MRB_STR_ASCII)\n",
     "# define RSTR_ASCII_P(s) ((s)->flags & (MRB_STR_ASCII | FG_STR_BINARY))\n"],
    ["# define RSTR_WRITE_ASCII_FLAG(s, v) (RSTR_UNSET_ASCII_FLAG(s), (s)->flags |= v)\n",
     "# define RSTR_WRITE_ASCII_FLAG(s, v) ((s)->flags = ((s)->flags & ~(MRB_STR_ASCII | FG_STR_BINARY)) | (v))\n"],
    ["#define MRB_STR_ASCII    16\n", "#define MRB_STR_ASCII    16\n#define FG_STR_BINARY  2048\n"],
  ],
  "src/string.c" => [
    # As many as mrb_utf8len finds: a byte that belongs to no character is one, and was none.
    ["  mrb_int len = 0;\n  const char *p = str;\n  const char *e = p + byte_len;\n  while (p < e) {\n" \
     "    if (utf8_islead(*p)) len++;\n    p++;\n  }\n  return len;\n",
     "  mrb_int len = 0;\n  const char *p = str;\n  const char *e = p + byte_len;\n  while (p < e) {\n" \
     "    p += (unsigned char)*p < 0x80 ? 1 : mrb_utf8len(p, e);\n    len++;\n  }\n  return len;\n"],
    # Text and bytes are equal where both are ASCII, and text comes after bytes. Asked only where the bytes are equal.
    ["static mrb_bool\nstr_eql(", "extern mrb_bool fg_is_ascii(struct RString*);\n\nstatic mrb_bool\nstr_eql("],
    ["  if (memcmp(RSTRING_PTR(str1), RSTRING_PTR(str2), (size_t)len) == 0)\n    return TRUE;\n",
     "  if (memcmp(RSTRING_PTR(str1), RSTRING_PTR(str2), (size_t)len) == 0) {\n" \
     "    struct RString *s1 = mrb_str_ptr(str1), *s2 = mrb_str_ptr(str2);\n" \
     "    return !((s1->flags ^ s2->flags) & FG_STR_BINARY) || fg_is_ascii(s1);\n  }\n"],
    ["  if (retval == 0) {\n    if (len1 == len2) return 0;\n",
     "  if (retval == 0) {\n    extern mrb_bool fg_is_ascii(struct RString*);\n" \
     "    if (len1 == len2 && ((s1->flags ^ s2->flags) & FG_STR_BINARY) && !fg_is_ascii(s1)) {\n" \
     "      return (s1->flags & FG_STR_BINARY) ? -1 : 1;\n    }\n    if (len1 == len2) return 0;\n"],
    # As in CRuby, text that is ASCII becomes bytes when bytes come to it.
    ["MRB_API mrb_value\nmrb_str_plus(mrb_state *mrb, mrb_value a, mrb_value b)\n{\n",
     "mrb_bool\nfg_is_ascii(struct RString *s)\n{\n" \
     "  const char *p = RSTR_PTR(s), *e = p + RSTR_LEN(s);\n" \
     "  for (; p < e; p++) if ((unsigned char)*p >= 0x80) return FALSE;\n  return TRUE;\n}\n\n" \
     "static mrb_bool\nfg_joins_to_binary(struct RString *left, struct RString *right)\n{\n" \
     "  if (left->flags & FG_STR_BINARY) return (right->flags & FG_STR_BINARY) || fg_is_ascii(right);\n" \
     "  if (!(right->flags & FG_STR_BINARY)) return FALSE;\n" \
     "  return RSTR_LEN(left) == 0 || (!fg_is_ascii(right) && fg_is_ascii(left));\n" \
     "}\n\n" \
     "MRB_API mrb_value\nmrb_str_plus(mrb_state *mrb, mrb_value a, mrb_value b)\n{\n"],
    ["  memcpy(pt + slen, p2, s2len);\n\n  return mrb_obj_value(t);\n",
     "  memcpy(pt + slen, p2, s2len);\n  if (((s->flags | s2->flags) & FG_STR_BINARY) && fg_joins_to_binary(s, s2)) " \
     "t->flags |= FG_STR_BINARY;\n\n  return mrb_obj_value(t);\n"],
    ["    mrb_str_modify(mrb, mrb_str_ptr(str));\n  }\n  return mrb_str_cat(mrb, str, RSTRING_PTR(str2), ",
     "    mrb_str_modify(mrb, mrb_str_ptr(str));\n  }\n" \
     "  struct RString *left = mrb_str_ptr(str), *right = mrb_str_ptr(str2);\n" \
     "  if ((right->flags & ~left->flags & FG_STR_BINARY) && !mrb_frozen_p(left)) {\n" \
     "    if (fg_joins_to_binary(left, right)) left->flags |= FG_STR_BINARY;\n  }\n" \
     "  return mrb_str_cat(mrb, str, RSTRING_PTR(str2), "],
    ["      mrb_int clen = mrb_utf8len(p, e);\n      if (p + clen>=e) break;\n",
     "      mrb_int clen = RSTR_ASCII_P(s) ? 1 : mrb_utf8len(p, e);\n      if (p + clen>=e) break;\n"],
  ],
  "mrbgems/mruby-string-ext/src/string.c" => [
    ["  mrb_int c = utf8code(mrb, p, e);\n  return mrb_fixnum_value(c);\n",
     "  mrb_int c = RSTR_ASCII_P(mrb_str_ptr(str)) ? p[0] : utf8code(mrb, p, e);\n  return mrb_fixnum_value(c);\n"],
    ["    mrb_int c = utf8code(mrb, p, e);\n    mrb_ary_push(mrb, result, mrb_int_value(mrb, c));\n" \
     "    p += mrb_utf8len_table[p[0]>>3];\n",
     "    mrb_bool bytes = RSTR_ASCII_P(mrb_str_ptr(str)) != 0;\n" \
     "    mrb_int c = bytes ? p[0] : utf8code(mrb, p, e);\n" \
     "    mrb_ary_push(mrb, result, mrb_int_value(mrb, c));\n" \
     "    p += bytes ? 1 : mrb_utf8len_table[p[0]>>3];\n"],
    # Bytes, which are not signed; and two texts may share their bytes and not be as long.
    ["  char *p1 = RSTR_PTR(s1);\n  char *p2 = RSTR_PTR(s2);\n  if (p1 == p2) return mrb_fixnum_value(0);\n",
     "  const unsigned char *p1 = (const unsigned char*)RSTR_PTR(s1), *p2 = (const unsigned char*)RSTR_PTR(s2);\n" \
     "  if (((s1->flags ^ s2->flags) & FG_STR_BINARY) && !fg_is_ascii(s1) && !fg_is_ascii(s2)) " \
     "return mrb_nil_value();\n"],
    ["static mrb_value\nstr_casecmp(mrb_state *mrb, mrb_value self)\n{\n",
     "extern mrb_bool fg_is_ascii(struct RString*);\n\n" \
     "static mrb_value\nstr_casecmp(mrb_state *mrb, mrb_value self)\n{\n"],
    # A byte beyond ASCII is no text.
    ["  str = mrb_str_new(mrb, &c, 1);\n  RSTR_SET_ASCII_FLAG(mrb_str_ptr(str));\n  return str;\n",
     "  str = mrb_str_new(mrb, &c, 1);\n" \
     "  mrb_str_ptr(str)->flags |= (unsigned char)c < 0x80 ? MRB_STR_ASCII : FG_STR_BINARY;\n  return str;\n"],
  ],
}.freeze
