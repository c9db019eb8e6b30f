# What patch.rb changes in mruby's parser for `defined?`, which it does not know: it is parsed as the call of a method
# with one argument. That is made into a String where the kind of expression says it all, else into a call of
# `__defined__` (crates/engine-mruby/c/defined.c), which is told a kind and a name and, where there is a receiver, gets
# it as a block, so that an error in it is caught.

DEFINED = [
  # Without parentheses before a word after which nothing goes on, which mruby refuses in a list: it gets them here.
  ["static int\nparser_yylex(parser_state *p)\n{\n",
   <<~C + "static int\nparser_yylex(parser_state *p)\n{\n"],
     /* Whether a list begins with a word that leaves where it stands, and has no value. */
     static mrb_bool
     fg_is_jump(const int *read, int n)
     {
       static const char *const words[] = {"break", "next", "redo", "retry", "return"};
       char head[8] = "";
       int at = 0, length = 0;

       while (at < n && read[at] == ' ') at++;
       while (at < n && length < 7 && read[at] < 128 && (ISALNUM(read[at]) || strchr("_?!", read[at]))) {
         head[length++] = (char)read[at++];
       }
       for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
         if (!strcmp(head, words[i])) return TRUE;
       }
       return FALSE;
     }

     /* Behind `defined?(`: `and`, `or` and `not`, which mruby takes in no list, get parentheses of their own. */
     static void
     fg_defined_list(parser_state *p)
     {
       int read[200], n = 0, depth = 1, quote = 0, c;
       mrb_bool word = FALSE;

       while (depth > 0 && n < 198 && (c = nextc(p)) > 0 && c != '\\n') {
         read[n++] = c;
         if (quote) {
           if (c == quote && read[n - 2] != '\\\\') quote = 0;
           continue;
         }
         if (c == '\\'' || c == '"') quote = c;
         if ((c == ' ' || c == '(') && n > 2) {
           char at[5] = {n > 4 ? (char)read[n - 5] : ' ', n > 3 ? (char)read[n - 4] : ' ', (char)read[n - 3],
                         (char)read[n - 2], 0};
           if (!memcmp(at + 1, "and", 3) || !memcmp(at + 1, "not", 3)) word = word || !ISALNUM(at[0]);
           if (!memcmp(at + 2, "or", 2)) word = word || !ISALNUM(at[1]);
         }
         if (strchr("([{", c)) depth++;
         else if (strchr(")]}", c)) depth--;
       }
       if (depth > 0) {
         if (n < 198) pushback(p, c);
         word = FALSE;
       }
       if (depth == 0 && fg_is_jump(read, n)) {
         pushback(p, ')');
         pushback(p, '0');
         n = 0;
       }
       if (word && n > 0) pushback(p, ')');
       else word = FALSE;
       while (n > 0) pushback(p, read[--n]);
       if (word) pushback(p, '(');
       pushback(p, '(');
     }

     static void
     fg_defined_word(parser_state *p)
     {
       int read[128], n = 0, from, to, c;

       if ((c = nextc(p)) == '(') {
         fg_defined_list(p);
         return;
       }
       pushback(p, c);
       do {
         read[n++] = c = nextc(p);
       } while ((c == ' ' || c == '\\t') && n < 40);
       from = n - 1;
       while (n < 100 && c > 0 && (ISALNUM(c) || strchr("_@$:.", c))) read[n++] = c = nextc(p);
       to = n - 1;
       while (n < 120 && (c == ' ' || c == '\\t')) read[n++] = c = nextc(p);
       if (from > 0 && to > from && (c < 0 || strchr(")],};\\n", c))) {
         pushback(p, c);
         pushback(p, ')');
         while (to > from) pushback(p, read[--to]);
         pushback(p, '(');
         return;
       }
       while (n > 0) pushback(p, read[--n]);
     }

   C
  ["        result = tFID;\n",
   "        result = tFID;\n" \
   "        if (p->lstate != EXPR_FNAME && p->lstate != EXPR_DOT && toklen(p) == 8 &&\n" \
   "            memcmp(tok(p), \"defined?\", 8) == 0) fg_defined_word(p);\n"],
  ["static node*\nnew_fcall(parser_state *p, mrb_sym b, node *c)\n{\n",
   "static node* fg_defined(parser_state *p, node *e);\n" \
   "static node*\nnew_fcall(parser_state *p, mrb_sym b, node *c)\n{\n" \
   "  mrb_int len;\n" \
   "  const char *name = mrb_sym_name_len(p->mrb, b, &len);\n" \
   "  if (len == 8 && c && c->car && !c->car->cdr && memcmp(name, \"defined?\", 8) == 0) {\n" \
   "    return fg_defined(p, c->car->car);\n" \
   "  }\n"],
  ["/* (:super . c) */\nstatic node*\nnew_super(",
   <<~C + "/* (:super . c) */\nstatic node*\nnew_super("],
     static node*
     fg_ask(parser_state *p, char kind, mrb_sym name, node *receiver)
     {
       node *args = list2(cons((node*)NODE_SYM, nsym(mrb_intern(p->mrb, &kind, 1))),
                          cons((node*)NODE_SYM, nsym(name)));
       node *block = receiver ? list4((node*)NODE_BLOCK, 0, 0, receiver) : 0;
       return list4((node*)NODE_FCALL, 0, nsym(mrb_intern_lit(p->mrb, "__defined__")), new_callargs(p, args, 0, block));
     }

     static node*
     fg_word(parser_state *p, const char *word)
     {
       size_t len = strlen(word);
       return cons((node*)NODE_STR, cons((node*)parser_strndup(p, word, len), nint(len)));
     }

     /* What a kind of expression is, if all of a list is defined. */
     static node*
     fg_if_all(parser_state *p, node *list, node *then)
     {
       if (!list) return then;
       return cons((node*)NODE_AND, cons(fg_defined(p, list->car), fg_if_all(p, list->cdr, then)));
     }

     static node*
     fg_defined(parser_state *p, node *e)
     {
       node *arguments;
       mrb_sym none = mrb_intern_lit(p->mrb, "x");
       if (e == NULL) return fg_word(p, "expression");
       switch (typen(e->car)) {
       case NODE_BEGIN:
         if (e->cdr && e->cdr->car && !e->cdr->cdr) return fg_defined(p, e->cdr->car);
         return fg_word(p, "expression");
       case NODE_SELF: return fg_word(p, "self");
       case NODE_NIL: return fg_word(p, "nil");
       case NODE_TRUE: return fg_word(p, "true");
       case NODE_FALSE: return fg_word(p, "false");
       case NODE_LVAR: return fg_word(p, "local-variable");
       case NODE_ASGN: case NODE_MASGN: case NODE_OP_ASGN: return fg_word(p, "assignment");
       case NODE_IVAR: return fg_ask(p, 'i', sym(e->cdr), 0);
       case NODE_GVAR: return fg_ask(p, 'g', sym(e->cdr), 0);
       case NODE_CVAR: return fg_ask(p, 'v', sym(e->cdr), 0);
       case NODE_CONST: return fg_ask(p, 'c', sym(e->cdr), 0);
       case NODE_COLON3: return fg_ask(p, 't', sym(e->cdr), 0);
       case NODE_COLON2: return fg_ask(p, 'p', sym(e->cdr->cdr), e->cdr->car);
       case NODE_BACK_REF: {
         char name[2] = {'$', (char)intn(e->cdr)};
         return fg_ask(p, 'n', mrb_intern(p->mrb, name, 2), 0);
       }
       case NODE_NTH_REF: {
         char name[24];
         snprintf(name, sizeof(name), "$%d", (int)intn(e->cdr));
         return fg_ask(p, 'n', mrb_intern_cstr(p->mrb, name), 0);
       }
       case NODE_YIELD: {
         node *given = list4((node*)NODE_FCALL, 0, nsym(mrb_intern_lit(p->mrb, "block_given?")), 0);
         return list4((node*)NODE_IF, given, fg_word(p, "yield"), 0);
       }
       case NODE_SUPER: case NODE_ZSUPER: return fg_ask(p, 's', none, 0);
       case NODE_ARRAY: return fg_if_all(p, e->cdr, fg_word(p, "expression"));
       case NODE_FCALL:
         arguments = e->cdr->cdr->cdr->car;
         return fg_if_all(p, arguments ? arguments->car : NULL, fg_ask(p, 'm', sym(e->cdr->cdr->car), 0));
       case NODE_CALL: case NODE_SCALL:
         arguments = e->cdr->cdr->cdr->car;
         return fg_if_all(p, arguments ? arguments->car : NULL, fg_ask(p, 'a', sym(e->cdr->cdr->car), e->cdr->car));
       default: return fg_word(p, "expression");
       }
     }

   C
].freeze
