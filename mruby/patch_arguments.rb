# What patch.rb changes in mruby's compiler for the keywords of a `yield`, and for `**nil`.

# A `yield` carries its keywords as a call does, where mruby makes them a Hash among the arguments.
YIELD = [
  ["      if (c->cdr->car) {\n        return cons((node*)NODE_YIELD, push(c->car, c->cdr->car));\n      }\n    }\n" \
   "    return cons((node*)NODE_YIELD, c->car);\n  }\n  return cons((node*)NODE_YIELD, 0);\n",
   "    }\n  }\n  return cons((node*)NODE_YIELD, c);\n"],
  ["    printf(\"NODE_YIELD:\\n\");\n    dump_recur(mrb, tree, offset+1);\n",
   "    printf(\"NODE_YIELD:\\n\");\n    if (tree) dump_recur(mrb, tree->car, offset+1);\n"],
].freeze

YIELD_CODE = [
  ["      int lv = 0, ainfo = -1;\n      int n = 0, sendv = 0;\n",
   "      int lv = 0, ainfo = -1;\n      int n = 0, nk = 0, st = 0;\n"],
  ["        n = gen_values(s, tree, VAL, 14);\n        if (n < 0) {\n          n = sendv = 1;\n          push();\n" \
   "        }\n      }\n      push();pop(); /* space for a block */\n      pop_n(n+1);\n",
   "        if (tree->car) {\n          st = n = gen_values(s, tree->car, VAL, 14);\n          if (n < 0) {\n" \
   "            st = 1;\n            n = CALL_MAXARGS;\n            push();\n          }\n        }\n" \
   "        if (tree->cdr && tree->cdr->car) {\n          nk = gen_hash(s, tree->cdr->car->cdr, VAL, 14);\n" \
   "          if (nk < 0) {\n            st++;\n            nk = CALL_MAXARGS;\n          }\n" \
   "          else st += nk*2;\n        }\n      }\n      push();pop(); /* space for a block */\n      pop_n(st+1);\n"],
  ["      if (sendv) n = CALL_MAXARGS;\n      genop_3(s, OP_SEND, cursp(), new_sym(s, MRB_SYM_2(s->mrb, call)), n);\n",
   "      genop_3(s, OP_SEND, cursp(), new_sym(s, MRB_SYM_2(s->mrb, call)), n|(nk<<4));\n"],
].freeze

# `**nil` takes no keywords: the name of a parameter that none can be read by.
NO_KEYWORDS = [
  ["        kw = mrb_reserved_word(tok(p), toklen(p));\n",
   "        kw = mrb_reserved_word(tok(p), toklen(p));\n" \
   "        if (kw && kw->id[0] == keyword_nil && p->fg_stars) kw = NULL;\n"],
  ["  p->ylval = lval;\n  return parser_yylex(p);\n",
   "  p->ylval = lval;\n  int token = parser_yylex(p);\n" \
   "  p->fg_stars = token == tDSTAR;\n  return token;\n"],
].freeze

NO_KEYWORDS_CODE = [
  ["      if (tail->cdr->cdr->car) {\n        kwrest = 1;\n      }\n",
   "      if (tail->cdr->cdr->car) {\n" \
   "        kwrest = nsym(tail->cdr->cdr->car->cdr) != mrb_intern_lit(s->mrb, \"nil\");\n      }\n"],
  ["      if (tail->cdr->car && !kwrest) {\n", "      if ((tail->cdr->car || kd) && !kwrest) {\n"],
].freeze
