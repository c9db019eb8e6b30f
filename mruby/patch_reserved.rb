# What patch.rb changes in mruby's grammar where `_1` or `$1` is assigned to. These rules report an error and go on, but
# leave no node behind: only the parameter's number, or nothing, which the rules around them then read as a node.

RESERVED = [
  ["static void\nassignable(parser_state *p, node *lhs)\n{\n",
   <<~C + "static void\nassignable(parser_state *p, node *lhs)\n{\n"],
     static void
     fg_reserved(parser_state *p, int number)
     {
       char message[] = "_0 is reserved for numbered parameter";

       message[1] = (char)('0' + number);
       yyerror(p, message);
     }

   C
].freeze

# Each rule in the grammar, and as bison has written it: what stands around it, its action, and the action it gets.
places = [
  # lhs
  ["                      yyerror(p, \"can't assign to numbered parameter\");\n",
   "                      fg_reserved(p, $1);\n                      $$ = new_lvar(p, intern_numparam($1));\n",
   "", "                    }\n                ;\n\ncname ",
   "  case 112: /* lhs: \"numbered parameter\"  */\n#line 2160 \"mrbgems/mruby-compiler/core/parse.y\"\n" \
   "                    {\n", ""],
  # var_lhs
  ["                      yyerror(p, \"can't assign to numbered parameter\");\n",
   "                      fg_reserved(p, $1);\n                      $$ = new_lvar(p, intern_numparam($1));\n",
   "", "                    }\n                ;\n\nvar_ref ",
   "  case 487: /* var_lhs: \"numbered parameter\"  */\n#line 3579 \"mrbgems/mruby-compiler/core/parse.y\"\n" \
   "                    {\n", ""],
  # mlhs_node
  ["                      $$ = 0;\n", "                      $$ = new_nil(p);\n",
   "                      backref_error(p, $1);\n", "                    }\n                ;\n\nlhs ",
   "  case 103: /* mlhs_node: backref  */\n#line 2116 \"mrbgems/mruby-compiler/core/parse.y\"\n" \
   "                    {\n                      backref_error(p, (yyvsp[0].nd));\n", ""],
  # lhs
  ["                      $$ = 0;\n", "                      $$ = new_nil(p);\n",
   "                      backref_error(p, $1);\n", "                    }\n                | tNUMPARAM\n",
   "  case 111: /* lhs: backref  */\n#line 2155 \"mrbgems/mruby-compiler/core/parse.y\"\n" \
   "                    {\n                      backref_error(p, (yyvsp[0].nd));\n", ""],
  # f_label
  ["                      local_nest(p);\n",
   "                      fg_reserved(p, $1);\n                      $$ = intern_numparam($1);\n" \
   "                      local_nest(p);\n",
   "                | tNUMPARAM tLABEL_TAG\n                    {\n", "",
   "  case 511: /* f_label: \"numbered parameter\" \"label\"  */\n" \
   "#line 3690 \"mrbgems/mruby-compiler/core/parse.y\"\n" \
   "                    {\n", ""],
  # f_bad_arg
  ["                      yyerror(p, \"formal argument cannot be a numbered parameter\");\n",
   "                      fg_reserved(p, $1);\n", "", "",
   "", ""]
]

as_bison = lambda do |action, kind, at|
  action.gsub("$$", "(yyval.#{kind})").gsub("$1", "(yyvsp[#{at}].num)")
end

RESERVED_GRAMMAR = places.map do |action, better, before, after, _, _|
  ["#{before}#{action}#{after}", "#{before}#{better}#{after}"]
end.freeze
RESERVED_GENERATED = places.map do |action, better, _, _, before, after|
  kind, at = before.include?("f_label") ? ["id", -1] : ["nd", 0]
  ["#{before}#{as_bison.(action, kind, at)}#{after}", "#{before}#{as_bison.(better, kind, at)}#{after}"]
end.freeze
