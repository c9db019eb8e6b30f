# What patch.rb changes in mruby's parser, so that it knows whose a `do` is: in the grammar, and in the same way in what
# bison made of it, since no bison is needed to build mruby.

# The `}` of an interpolation takes one bit off two stacks, which say whose a `do` is: that of a `while`, that of a
# command called without parentheses, or that of the call before it. `#{` put none on, so the bit was that of the
# braces around the string. Both stacks begin anew inside, and afterwards are as they were before.
INTERPOLATION = [
  ["  node *n = cons((node*)p->lex_strterm, p->parsing_heredoc);\n  p->lex_strterm = NULL;\n",
   "  node *n = cons((node*)p->lex_strterm, p->parsing_heredoc);\n" \
   "  n = cons(n, cons(nint(p->cond_stack), nint(p->cmdarg_stack)));\n" \
   "  p->cond_stack = p->cmdarg_stack = 0;\n" \
   "  p->lex_strterm = NULL;\n"],
  ["  p->lex_strterm = (parser_lex_strterm*)n->car;\n  p->parsing_heredoc = n->cdr;\n",
   "  node *before = n->cdr;\n" \
   "  p->cond_stack = (stack_type)intn(before->car);\n" \
   "  p->cmdarg_stack = (stack_type)intn(before->cdr);\n" \
   "  cons_free(before);\n" \
   "  before = n->car;\n" \
   "  cons_free(n);\n" \
   "  n = before;\n" \
   "  p->lex_strterm = (parser_lex_strterm*)n->car;\n  p->parsing_heredoc = n->cdr;\n"],
].freeze

# The parser decides with one token in hand. When the arguments of a command begin with a bracket, that has put its bit
# on already, below the one of the command; when a bracket ends them, it has taken its bit off already, before all is
# set back as it was at their begin; the brace of a lambda may have come or not. Each is put right where it happens.
COMMAND = [
  ["#define CMDARG_P() ",
   "#define FG_OPENS(c) ((c) == '(' || (c) == tLPAREN || (c) == tLPAREN_ARG || (c) == '[' || (c) == tLBRACK)\n" \
   "#define FG_CLOSES(c) ((c) == ')' || (c) == ']' || (c) == '}')\n" \
   "#define CMDARG_P() "],
  ["= p->cmdarg_stack;\n                      CMDARG_PUSH(1);\n",
   "= FG_OPENS(yychar) ? CMDARG_POP() : p->cmdarg_stack;\n" \
   "                      CMDARG_PUSH(1);\n" \
   "                      if (FG_OPENS(yychar)) CMDARG_PUSH(0);\n"],
  ["                      CMDARG_LEXPOP();\n", ""],
].freeze

# `a || return` has a value when `a` has one: only the left side must not be void.
VOID = [
  ["      void_expr_error(p, n->cdr->car);\n      void_expr_error(p, n->cdr->cdr);\n",
   "      void_expr_error(p, n->cdr->car);\n"],
].freeze

# A method without parentheses and `end` (def name = value) got no place for its block, which `super` and `yield` then
# took from the first value they found.
# "#$1" and "#@name": what follows the # is put back in braces, and read again.
BARE_INTERPOLATION = [
  ["static int\nparse_string(parser_state *p)\n{\n",
   <<~C + "static int\nparse_string(parser_state *p)\n{\n"],
     static int
     fg_interpolated(parser_state *p, int c, int end)
     {
       char name[130];
       int n = 0, d;

       name[n++] = (char)c;
       d = nextc(p);
       if (c == '@' && d == '@') {
         name[n++] = '@';
         d = nextc(p);
       }
       if (d > 0 && (d == '_' || ISALPHA(d) || (c == '$' && ISDIGIT(d)))) {
         do {
           name[n++] = (char)d;
           d = nextc(p);
         } while (n < 128 && d > 0 && (d == '_' || ISALNUM(d)));
         pushback(p, d);
       }
       else if (c == '$' && d > 0 && d != end && strchr("~*$?!@/\\;,.=:<>&`'+", d)) {
         name[n++] = (char)d;
       }
       else {
         pushback(p, d);
         if (n == 2) pushback(p, '@');
         return c;
       }
       pushback(p, '}');
       while (n > 0) pushback(p, name[--n]);
       return '{';
     }

   C
  ["    else if ((c == '#') && (type & STR_FUNC_EXPAND)) {\n      c = nextc(p);\n",
   "    else if ((c == '#') && (type & STR_FUNC_EXPAND)) {\n      c = nextc(p);\n" \
   "      if (c == '$' || c == '@') c = fg_interpolated(p, c, end);\n"],
].freeze

# A keyword's default may name the keywords before it, which get their registers only at the end of the list.
KNOWN_KEYWORDS = [
  ["local_var_p(parser_state *p, mrb_sym sym)\n{\n",
   "local_var_p(parser_state *p, mrb_sym sym)\n{\n" \
   "  for (node *k = p->fg_keywords; k; k = k->cdr) {\n    if (sym(k->car) == sym) return TRUE;\n  }\n"],
  ["  mrb_assert(kw);\n", "  mrb_assert(kw);\n  p->fg_keywords = cons(nsym(kw), p->fg_keywords);\n"],
  ["  if (kws || kwrest) {\n    local_add_kw(",
   "  for (k = kws; k && p->fg_keywords; k = k->cdr) p->fg_keywords = p->fg_keywords->cdr;\n" \
   "  if (kws || kwrest) {\n    local_add_kw("],
].freeze

# Nothing is escaped in <<'TEXT'.
RAW_HEREDOC = [
  ["    else if (c == '\\\\') {\n      c = nextc(p);\n      if (type & STR_FUNC_EXPAND) {\n",
   "    else if (c == '\\\\' && hinfo && !(type & STR_FUNC_EXPAND)) {\n      tokadd(p, c);\n      continue;\n    }\n" \
   "    else if (c == '\\\\') {\n      c = nextc(p);\n      if (type & STR_FUNC_EXPAND) {\n"],
].freeze

ENDLESS = [
  ["static void\ndefn_setup(parser_state *p, node *d, node *a, node *b)\n{\n  node *n = d->cdr->cdr;\n\n",
   "static node* new_args(parser_state*, node*, node*, mrb_sym, node*, node*);\n" \
   "static node*\nfg_no_args(parser_state *p)\n{\n" \
   "  p->locals->car = cons(nsym(intern_op(and)), p->locals->car);\n" \
   "  return new_args(p, 0, 0, 0, 0, 0);\n}\n\n" \
   "static void\ndefn_setup(parser_state *p, node *d, node *a, node *b)\n{\n  node *n = d->cdr->cdr;\n\n" \
   "  if (a == NULL) a = fg_no_args(p);\n"],
  ["  node *n = d->cdr->cdr->cdr;\n\n  n->car = locals_node(p);\n" \
   "  p->cmdarg_stack = intn(n->cdr->car);\n  n->cdr->car = a;\n",
   "  node *n = d->cdr->cdr->cdr;\n\n  if (a == NULL) a = fg_no_args(p);\n  n->car = locals_node(p);\n" \
   "  p->cmdarg_stack = intn(n->cdr->car);\n  n->cdr->car = a;\n"],
].freeze

# What differs between the grammar and what bison made of it: how a saved stack is written.
ENDED = "                      if (FG_CLOSES(yychar)) CMDARG_POP();\n" \
        "                      if (yychar == tLBRACE_ARG) CMDARG_PUSH(0);\n".freeze
LAMBDA = "yychar == tLAMBEG ? CMDARG_POP() : p->cmdarg_stack;\n".freeze
GRAMMAR = [
  ["                      p->cmdarg_stack = $<stack>1;\n                      $$ = $2;\n",
   "                      p->cmdarg_stack = $<stack>1;\n#{ENDED}                      $$ = $2;\n"],
  ["                  f_larglist\n                    {\n                      $<stack>$ = p->cmdarg_stack;\n",
   "                  f_larglist\n                    {\n                      $<stack>$ = #{LAMBDA}"],
].freeze
GENERATED = [
  ["                      p->cmdarg_stack = (yyvsp[-1].stack);\n                      (yyval.nd) = (yyvsp[0].nd);\n",
   "                      p->cmdarg_stack = (yyvsp[-1].stack);\n" \
   "#{ENDED}                      (yyval.nd) = (yyvsp[0].nd);\n"],
  ["#line 2775 \"mrbgems/mruby-compiler/core/parse.y\"\n                    {\n" \
   "                      (yyval.stack) = p->cmdarg_stack;\n",
   "#line 2775 \"mrbgems/mruby-compiler/core/parse.y\"\n                    {\n" \
   "                      (yyval.stack) = #{LAMBDA}"],
].freeze

# `_1` in `-> { }` is a parameter of it, as it is in any other block.
NUMBERED = [
  ["  return list4((node*)NODE_LAMBDA, locals_node(p), a, b);\n",
   "  a = setup_numparams(p, a);\n  return list4((node*)NODE_LAMBDA, locals_node(p), a, b);\n"],
].freeze
