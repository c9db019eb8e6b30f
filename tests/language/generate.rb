# Programs from a grammar of Ruby: a tree of nodes, which can be written out and made smaller. What a program evaluates
# it notes with `t` (crates/engine-mruby/tests/programs/trace.rb). Every loop is bounded by a counter of its own.

# One node: parts are texts and nodes; what it may be replaced by stands with it.
class Node
  attr_reader :kind
  attr_accessor :parts

  # A kind is :statements, :statement or :value: a node may be replaced by another of its kind.
  def initialize(kind, *parts)
    @kind = kind
    @parts = parts
  end

  def to_s = @parts.join

  def each(&block)
    yield self
    @parts.each { |part| part.each(&block) if part.is_a?(Node) }
  end

  def copy = Node.new(@kind, *@parts.map { |part| part.is_a?(Node) ? part.copy : part })

  def size = 1 + @parts.sum { |part| part.is_a?(Node) ? part.size : 0 }
end

# Makes programs. Each theme adds statements and values of its own to the common ones.
class Generate
  THEMES = %i[control arguments assignment objects calls everyday].freeze

  def initialize(random, themes = THEMES)
    @random = random
    @themes = themes
  end

  def program
    @theme = pick(@themes)
    @names = %w[a b c]
    @count = 0
    @loops = []
    @in_method = false
    @in_block = false
    @depth = 0
    head = Node.new(:head, "a = 1\nb = [1, 2, 3]\nc = nil\n@v = 5\n")
    Node.new(:program, head, statements(2 + rand(3)), value_note)
  end

  private

  def rand(number) = @random.rand(number)
  def pick(list) = list[rand(list.size)]
  def chance(part) = rand(100) < part
  def fresh(prefix = "x") = "#{prefix}#{@count += 1}"

  def value_note = statement("t(", Node.new(:fixed, "a, b, c"), ")\n")

  def statement(*parts) = Node.new(:statement, *parts)
  def value_node(*parts) = Node.new(:value, *parts)

  def statements(most = 3)
    Node.new(:statements, *Array.new(1 + rand(most)) { any_statement })
  end

  def deeper
    @depth += 1
    yield
  ensure
    @depth -= 1
  end

  def any_statement
    return small_statement if @depth > 4
    deeper { chance(30) ? small_statement : send(pick(STATEMENTS.fetch(@theme))) }
  end

  COMMON = %i[if_statement case_statement begin_statement loop_statement block_call method_definition
              assign_statement].freeze
  STATEMENTS = {
    control: COMMON + %i[begin_statement loop_statement begin_statement loop_statement catch_statement lambda_call
                         flip_flop modifier],
    arguments: COMMON + %i[signature_call signature_call block_signature super_call yield_method method_missing
                           define_method],
    assignment: COMMON + %i[multiple multiple operator_assign operator_assign operator_assign],
    objects: COMMON + %i[class_statement core_subclass super_call struct_statement comparable freeze_statement
                         method_missing refine_core defined_statement each_own],
    calls: %i[core_call core_call core_call core_call core_call assign_statement],
    everyday: COMMON + %i[format_call heredoc destructuring copied data_statement curried constants constants
                          method_name begin_statement list_call list_call hash_call]
  }.freeze

  def small_statement
    case rand(12)
    when 0 then jump
    when 1 then statement("raise ", pick(["\"m:#{fresh('e')}\"", "ArgumentError, \"m:#{fresh('e')}\"",
                                          "StopIteration, \"m:s\"", "KeyError, \"m:k\""]),
                          chance(60) ? statement(" if ", condition) : "", "\n")
    when 2, 3 then statement(pick(@names), " = ", value, "\n")
    else statement("t(", value, ")\n")
    end
  end

  def jump
    conditional = chance(75) ? statement(" if ", condition) : ""
    words = []
    words += %w[break next redo] if @loops.last == :loop
    words += %w[break next] if @loops.last == :block
    words += %w[next] if @loops.last == :lambda
    words += %w[return] if @in_method && @loops.last != :define
    words << "retry" if @in_rescue
    return statement("t(", value, ")\n") if words.empty?
    word = pick(words)
    # Bounded: each of these goes round once only.
    if %w[redo retry].include?(word)
      flag = fresh("$f")
      return statement("unless #{flag}\n#{flag} = true\n#{word}\nend\n")
    end
    carries = %w[return break next].include?(word) && chance(60)
    carried = carries ? value_node(" ", pick([value, value_node("1, 2"), value_node("*", value)])) : ""
    statement(word, carried, conditional, "\n")
  end

  def condition
    return value_node(pick(["a == 1", "a", "true", "false", "c", "c.nil?", "b", "defined?(zz)", "!a",
      "@v"])) if @depth > 4
    deeper do
      case rand(8)
      when 0 then value_node("(", condition, pick([" && ", " || ", " and ", " or "]), condition, ")")
      when 1 then value_node("!(", condition, ")")
      when 2 then value_node("(t ", value, ")")
      when 3 then value_node("(", value, " == ", value, ")")
      else value_node(pick(["a == 1", "a", "true", "c", "c.nil?", "b", "a != 2", "nil", "false", "@v == 5"]))
      end
    end
  end

  LITERALS = ["1", "2", "0", "nil", "true", "false", ":s", '"str"', "[1, 2]", "[]", "{k: 1}", "1.5", "(1..3)", "-1",
              "[[1, 2], 3]", "[nil]", "{}", '""', "2**70", "%w[x y]", "'q'", "(1..)", "{1 => 2, \"z\" => nil}"].freeze

  def literal = value_node(pick(LITERALS))

  def value
    return chance(50) ? literal : value_node(pick(@names)) if @depth > 4
    deeper do
      case rand(26)
      when 0..4 then literal
      when 5..8 then value_node(pick(@names))
      when 9 then value_node("[", value, ", ", value, "]")
      when 10 then value_node("[*", value, ", ", value, "]")
      when 11 then value_node("(", condition, " ? ", value, " : ", value, ")")
      when 12 then value_node("\"<\#{", value, "}>\"")
      when 13 then value_node("(", value, " rescue ", value, ")")
      when 14 then value_node("(begin\n", statements(2), value_of("t("), "\nend)")
      when 15 then value_node("(if ", condition, "\n", value, "\nelse\n", value, "\nend)")
      when 16 then value_node("(", pick(@names), " = ", value, ")")
      when 17 then value_node("(", value, pick([" && ", " || "]), value, ")")
      when 18 then value_node("{k: ", value, ", **", pick(["{}", "{z: 1}"]), "}")
      when 19 then block_value
      when 20 then value_node("->(x = ", value, ") { [x, ", value, "] }.call")
      when 21 then value_node("(case ", value, "\nwhen ", value, ", *", pick(["[]", "[1, nil]", "b"]), "\n", value,
                              "\nelse\n", value, "\nend)")
      when 22 then value_node("(", value, ")&.class")
      when 23 then value_node("[", value, "].flatten.first")
      when 24 then value_node("(t ", value, ")")
      else value_node("a.", pick(%w[to_s inspect class nil? frozen? itself]))
      end
    end
  end

  def value_of(head) = value_node(head, value, ")")

  def block_value
    name = fresh
    in_loop(:block) do
      value_node("[1, 2, 3].", pick(%w[map select each reject flat_map each_with_index.map sum each_slice(2).map
                                       find partition group_by min_by sort_by any? all? count take_while]),
                 " { |#{name}| ", with_name(name) { value }, " }")
    end
  end

  def with_name(*names)
    saved = @names
    @names += names
    yield
  ensure
    @names = saved
  end

  def in_loop(kind)
    @loops.push(kind)
    yield
  ensure
    @loops.pop
  end

  def outside
    saved = [@loops, @in_rescue, @names, @in_method]
    @loops = []
    @in_rescue = false
    yield
  ensure
    @loops, @in_rescue, @names, @in_method = saved
  end

  def if_statement
    word = pick(%w[if unless])
    statement("#{word} ", condition, "\n", statements, chance(50) ? statement("else\n", statements) : "", "end\n")
  end

  def case_statement
    subject = chance(70) ? value : ""
    arms = Array.new(1 + rand(3)) do
      statement("when ", pick([value, value_node("*", value), value_node("Integer, nil"), value_node("1..2"),
                               value_node(value, ", ", value), value_node("String, *[1, 5]"),
                               value_node("->(x) { x == 1 }")]), "\n", statements(2))
    end
    statement("t((case ", subject, "\n", *arms, chance(50) ? statement("else\n", statements(2)) : "", "end))\n")
  end

  def begin_statement
    rescues = Array.new(rand(3)) do
      head = pick(["rescue => e1", "rescue", "rescue ArgumentError, KeyError => e1", "rescue ArgumentError",
                   "rescue *[KeyError, StopIteration]", "rescue StandardError"])
      was = @in_rescue
      @in_rescue = true
      body = statements(2)
      @in_rescue = was
      statement(head, "\nt($!.class)\n", body)
    end
    was = @in_rescue
    @in_rescue = false
    body = statements
    # Only with a rescue clause may there be an else.
    otherwise = rescues.any? && chance(40) ? statement("else\n", statements(2)) : ""
    ensured = chance(50) ? statement("ensure\nt(:ensure)\n", statements(2)) : ""
    @in_rescue = was
    inner = statement("begin\n", body, *rescues, otherwise, ensured, "end")
    return statement(pick(@names), " = ", inner, "\n") if chance(25)
    return statement("t((", inner, "))\n") if chance(25)
    statement(inner, "\n")
  end

  def loop_statement
    count = fresh("i")
    body = -> { in_loop(:loop) { with_name(count) { statements } } }
    bound = "#{count} += 1\nbreak if #{count} > 4\n"
    case rand(8)
    when 0, 1 then statement("#{count} = 0\nwhile ", condition, "\n#{bound}", body.call, "end\n")
    when 2 then statement("#{count} = 0\nuntil ", condition, "\n#{bound}", body.call, "end\n")
    when 3 then statement("#{count} = 0\nbegin\n#{bound}", body.call, "end while ", condition, "\n")
    when 4 then statement("#{count} = 0\nt((while ", condition, "\n#{bound}", body.call, "end))\n")
    when 5 then statement("#{count} = 0\nbegin\n#{bound}", body.call, "end until ", condition, "\n")
    when 6 then statement("for #{count} in ", pick(["[1, 2, 3]", "1..3", "{k: 1, l: 2}", "[[1, 2], [3, 4]]"]), "\n",
      body.call, "end\n")
    else
      statement("#{count} = 0\nt(loop do\n#{bound}", in_loop(:block) { with_name(count) { statements } }, "end)\n")
    end
  end

  def block_call
    name = fresh
    iterator = pick(["[1, 2, 3].each", "3.times", "[3, 1, 2].map", "1.upto(3)", "{k: 1, l: 2}.each",
      "b.each_with_index",
                     "[1, 2].each_with_object([])", "[1, 2, 3].inject", "(1..4).each_slice(2)", "[1].cycle(2)",
                     "[4, 5].each.with_index(1)", "1.step(5, 2)", "%w[x y].each_with_index.map", "(1..3).reverse_each",
                     "[1, 2].lazy.map"])
    parameters = pick(["|#{name}|", "|#{name}, y#{name}|", "|(#{name}, y), *z|", "|#{name}, *r|", "|*#{name}|",
                       "|#{name}, y = 7|", "|#{name},|", "|#{name}; q|"])
    iterator = "b.to_a.each" if chance(10)
    body = in_loop(:block) { with_name(name) { statements } }
    statement("t(#{iterator} do #{parameters}\n", body, "end)\n")
  end

  def lambda_call
    name = fresh("l")
    kind = pick(["lambda", "proc", "->", "Proc.new"])
    body = in_loop(:lambda) { statements }
    call = pick([".call", ".()", "[]", ".yield"])
    maker = kind == "->" ? "-> do\n" : "#{kind} do\n"
    statement("#{name} = #{maker}", body, "end\nt(#{name}#{call})\n")
  end

  def catch_statement
    name = fresh("t")
    body = in_loop(:block) { statements }
    throwing = statement("throw :#{name}, ", value, chance(60) ? statement(" if ", condition) : "", "\n")
    statement("t(catch(:#{name}) do\n", body, throwing, statements(2), "end)\n")
  end

  def flip_flop
    name = fresh
    dots = pick(%w[.. ...])
    statement("(1..8).each { |#{name}| t(#{name}) if (#{name} % 3 == ", pick(%w[0 1 2]), ")#{dots}(#{name} % 4 == ",
              pick(%w[0 1 2]), ") }\n")
  end

  def modifier
    statement("t(", value, ")", pick([" if ", " unless "]), condition, "\n")
  end

  def method_definition
    name = fresh("m")
    outside do
      @in_method = true
      @names = %w[a b c]
      body = statements
      rescued = chance(30) ? statement("rescue => e\nt(e.class)\n", statements(2)) : ""
      ensured = chance(30) ? statement("ensure\nt(:m_ensure)\n", statements(2)) : ""
      statement("def #{name}(a = 1, b = [2], c = nil)\n", body, rescued, ensured, "end\n",
                "t(#{name}(", value_list, "))\n")
    end
  end

  def value_list = value_node(pick(["", "1", "nil, 2", "[1, 2]", "1, 2, 3"]))

  def assign_statement = statement(pick(@names), " = ", value, "\n")

  # arguments

  def signature
    required = Array.new(rand(3)) { |i| "p#{i}" }
    optional = Array.new(rand(3)) { |i| "o#{i} = #{pick(['1', 'p0', '[o0]', 'nil',
      ':d'].first(required.any? ? 2 : 1))}" }
    rest = chance(40) ? ["*r"] : []
    after = optional.any? || rest.any? ? Array.new(rand(2)) { |i| "q#{i}" } : []
    keys = Array.new(rand(3)) { |i| pick(["k#{i}:", "k#{i}: #{i}"]) }.sort_by { |key| key.size }
    double = chance(25) ? ["**o"] : []
    block = chance(25) ? ["&blk"] : []
    required + optional + rest + after + keys + double + block
  end

  def names_of(parameters) = parameters.map { |p| p[/[a-z]+\d*/] }

  def arguments
    list = Array.new(rand(4)) { pick(["1", "2", "nil", "[3, 4]", "*b", "*[5]", "*nil", "{z: 1}", ":s"]) }
    list += Array.new(rand(3)) { |i| pick(["k#{i}: #{i + 10}", "**{k#{i}: 9}", "\"s\" => 1", "zz: 2", "**{}"]) }
    list.join(", ")
  end

  def body_of(parameters)
    names = names_of(parameters)
    shown = names.map { |n| n == "blk" ? "blk&.call(1)" : n }.join(", ")
    "[#{shown}]"
  end

  def guarded(*parts) = statement("begin\n", *parts,
    "rescue ArgumentError, NoMethodError, TypeError => e9\nt(e9.class)\nend\n")

  def signature_call
    name = fresh("s")
    list = signature
    block = list.include?("&blk") && chance(60) ? " { |x, y| t(x, y) }" : ""
    statement("def #{name}(#{list.join(', ')}) = #{body_of(list)}\n",
              guarded("t(#{name}(", Node.new(:fixed, arguments), ")#{block})\n"),
              guarded("t(#{name}(", Node.new(:fixed, arguments), ")#{block})\n"),
              "t(method(:#{name}).arity, method(:#{name}).parameters)\n")
  end

  def block_signature
    list = signature - ["&blk"]
    kind = pick(%w[proc lambda])
    # A single parameter beside keywords took the first of an Array up to Ruby 3.1.
    list = list.reject { |p| p.match?(/\A(k|\*\*)/) } if list.grep(/\A[pqo]\d/).size < 2 || kind == "proc"
    list = list.map { |p| p.sub(" = p0", " = 1") }
    inner = chance(40) ? ["(n0, *n1)"] + list.reject { |p| p.start_with?("p") } : list
    names = inner.flat_map { |p| p.start_with?("(") ? %w[n0 n1] : names_of([p]) }
    name = fresh("pr")
    statement("#{name} = #{kind} { |#{inner.join(', ')}| [#{names.join(', ')}] }\n",
              guarded("t(#{name}.call(", Node.new(:fixed, arguments), "))\n"),
              guarded("t(#{name}.call(", Node.new(:fixed, pick(["[1, 2]", "[1, [2, 3]], 4", "[[1, 2]]", "[1], k0: 2",
                "[1, {k0: 2}]", "nil", ""])), "))\n"),
              guarded("t([[1, [2, 3]], [4]].map(&#{name}))\n"),
              "t(#{name}.arity, #{name}.parameters, #{name}.lambda?)\n")
  end

  def super_call
    name = fresh("S")
    list = signature
    change = chance(50) ? "#{pick(names_of(list) - ['blk'] + ['a'])} = 99\n" : ""
    mutate = list.include?("*r") && chance(50) ? "r << 7\n" : ""
    bare = pick(["super", "super", "super()", "[1].map { super }", "super(&nil)", "super { 5 }"])
    bare = "super" if bare.include?("map") && !list.grep(/blk/).empty?
    guarded("#{name} = Class.new { def m(*a, **k, &bl) = [a, k, bl&.call(2)] }\n",
            "#{name}B = Class.new(#{name}) { def m(#{list.join(', ')})\n", Node.new(:fixed, change), Node.new(:fixed,
              mutate), "#{bare}\nend }\n",
            "t(#{name}B.new.m(", Node.new(:fixed, arguments), "))\n",
            "t(#{name}B.new.m(", Node.new(:fixed, arguments), ") { |x| x })\n")
  end

  def yield_method
    name = fresh("y")
    yielded = pick(["1", "1, 2", "[1, 2]", "[1, [2, 3]]", "*b", "1, k: 2", "*[[1, 2]]", "{k: 1}", "nil", "[]"])
    parameters = pick(["|x|", "|x, y|", "|*x|", "|x, *y|", "|(x, y), z|", "|x, y = 5|", "|x, y, k: 0|", "|x,|",
                       "|*x, y|", "|x = 1, *y, z|", ""])
    names = parameters.scan(/[xyzk]\b/)
    body = in_loop(:block) { statements(2) }
    guarded("def #{name}\nt(block_given?)\nr = yield(#{yielded})\nt(r)\n:done\nensure\nt(:ens)\nend\n",
            "t(#{name} { #{parameters}\nt(#{names.join(', ')})\n".sub("t()", "t(0)"), body, "})\n")
  end

  def method_missing
    name = fresh("Mm")
    statement("class #{name}\ndef method_missing(n, *a, **k, &bl)\nreturn super unless n.to_s.start_with?('q')\n" \
      "[n, a, k, bl&.call]\nend\n",
              "def respond_to_missing?(n, p = false) = n.to_s.start_with?('q') || super\nend\n",
              guarded("t(#{name}.new.qa(", Node.new(:fixed, arguments), "))\n"),
              guarded("t(#{name}.new.", pick(["qb { 1 }", "zz", "qc = 1", "respond_to?(:qd)", "method(:qe).call(1)",
                "public_send(:qf, 1)", "qg(&:to_s)"]), ")\n"))
  end

  def define_method
    name = fresh("D")
    list = signature
    guarded("#{name} = Class.new { define_method(:m) { " \
      "|#{list.join(', ')}| #{chance(30) ? 'next 5 if defined?(p0) && p0 == 1; ' : ''}#{body_of(list)} } }\n",
            "t(#{name}.new.m(", Node.new(:fixed, arguments), "))\n",
            "t(#{name}.instance_method(:m).arity, #{name}.instance_method(:m).parameters)\n")
  end

  # assignment

  TARGETS = ["a", "b", "c", "@v", "$g", "h[t(:i)]", "ob.x", "h[1, 0]", "ob.y", "@w", "h[t(0)]", "t(ob).x",
    "self.class::Q1"].freeze
  OPERATORS = %w[+= -= *= ||= &&= <<= |= **= %= /=].freeze

  def holder
    statement("ob = Struct.new(:x, :y).new(1, nil)\nh = [5, 6]\nhs = {i: 1}\nn = nil\n")
  end

  def targets(depth = 0)
    list = Array.new(1 + rand(3)) do
      next "(#{targets(depth + 1)})" if depth < 2 && chance(20)
      pick(["a", "b", "c", "@v", "$g", "hs[t(:i)]", "ob.x", "h[t(1)]", "ob.y", "t(ob).x", "_", "h[*[0]]", "hs[[1]]"])
    end
    if chance(40)
      list.insert(rand(list.size + 1), pick(["*r", "*", "*@w", "*ob.y", "*h[t(0)]"]))
    end
    text = list.join(", ")
    text += "," if list.size == 1 && !text.start_with?("*") && depth.zero?
    text += ", a" if list.size == 1 && !text.start_with?("*") && depth.positive?
    text
  end

  def multiple
    right = pick([value, value_node(value, ", ", value), value_node("*", value, ", ", value),
      value_node("[1, [2, 3], *b]"),
                  value_node("t(1), t(2)"), value_node("b, a"), value_node("(t(4); [5, [6, 7]])"), value_node("nil"),
                  value_node("*nil"), value_node("h[1], h[0]")])
    line = value_node(targets, " = ", right)
    whole = pick([line, value_node("t((", line, "))"), line, value_node(line, " rescue [8, 9]")])
    statement(holder, guarded(whole, "\nt(a, b, c, @v, $g, ob.to_a, h, hs, @w)\n"))
  end

  def operator_assign
    target = pick(["a", "@v", "$g", "h[t(0)]", "ob.x", "n&.x", "ob&.x", "hs[:i]", "hs[t(:zz)]", "t(ob).y", "zz", "@un",
      "$un",
                   "h[*[1]]", "Q#{fresh('')}", "self.class::Q#{fresh('')}", "h[0, 1]", "b", "c", "ob[:x]", "t(n)&.foo"])
    line = value_node(target, " ", pick(OPERATORS), " ", value)
    whole = pick([line, value_node("t(", "(", line, "))"), value_node(line, " rescue t(:r)")])
    statement(holder, guarded(whole, "\nt(a, b, c, @v, $g, ob.to_a, h, hs)\n"))
  end

  # objects

  def class_statement
    name = fresh("K")
    methods = Array.new(1 + rand(2)) do
      outside do
        @in_method = true
        @names = %w[a b c]
        statement("def m#{rand(3)}(a = 0, b = [], c = @v)\n", statements(2), "end\n")
      end
    end
    visibility = pick(["", "private\n", "protected\n", "private :m0 rescue 0\n",
      "class << self; def s = 1; attr_accessor :z; end\n",
                       "alias_method :n0, :m0 rescue t(:noalias)\n", "X = 5\n", "include Comparable\n",
                         "undef_method :m1 rescue t(:u)\n",
                       "attr_writer :v\n", "def self.inherited(k) = t(:inh)\n", "@@cv = 1\ndef cv = @@cv += 1\n"])
    calls = Array.new(3) { guarded("t(#{name}.new.#{pick(%w[m0 m1 m2 n0 cv frozen? dup.class s])})\n") }
    statement("class #{name}\n", *methods, visibility, *methods.map(&:copy).first(rand(2)), "end\n", *calls,
              "t(Class.new(#{name}).ancestors.include?(#{name}), #{name}.instance_methods(false).sort)\n")
  end

  def core_subclass
    base = pick(["Array", "Hash", "String", "Struct.new(:a, :b)", "StandardError", "Module", "Object", "Proc", "Set",
      "Numeric"])
    make = { "Proc" => "new { |x| x }", "Struct.new(:a, :b)" => "new(1, 2)", "String" => "new('abc')",
      "Array" => "new([3, 1, 2])",
             "Set" => "new([1, 2])" }.fetch(base, "new")
    name = fresh("Z")
    calls = %w[z zz=(2) dup.z clone.z class instance_variables freeze.frozen? to_s.class inspect.class hash.class
               instance_variable_get(:@z) ==(nil) then\ {\ |q|\ q.z\ } is_a?(Comparable) respond_to?(:each) frozen?
                 dup.class
               itself.equal?(1) instance_variable_set(:@w,\ 1) remove_instance_variable(:@z)
                 instance_variable_defined?(:@z)
               map(&:to_s).class select{true}.class +(nil) *(2) [](0..1).class reverse.class to_a first size]
    statement("class #{name} < #{base}\ndef z = @z ||= [1]\ndef zz=(v)\n@z = v\nend\ndef initialize(*args, &bl)\n" \
      "@made = 1\nsuper\nend\nend\n",
              "o = #{name}.#{make}\no.z << 2\n",
              *Array.new(4) { statement("begin\nt(o.", pick(calls), ")\nrescue => e8\nt(e8.class)\nend\n") })
  end

  def struct_statement
    name = fresh("St")
    key = pick([", keyword_init: true", ""])
    make = key.empty? ? "1, 2" : "x: 1, y: 2"
    calls = ["to_a", "to_h", "x", "y = 5", "[:x]", "[0]", "==(#{name}.new(#{make}))", "each.to_a", "members",
      "inspect", "eql?(1)",
             "dig(:x)", "values_at(0)", "dup.x", "freeze.x", "size", "to_h { |k, v| [k.to_s, v] }", "select { |v| v }",
               "sum",
             "total", "each_pair.to_a", "hash == #{name}.new(#{make}).hash", "<=>(1)", "deconstruct",
               "filter_map { |v| v }"]
    statement("#{name} = Struct.new(:x, :y#{key}) do\ndef total = x.to_i + y.to_i\ndef to_s = \"S\#{x}\"\nend\n",
              *Array.new(3) { statement("begin\nt((#{name}.new(#{chance(80) ? make : pick(['1', '', '1, 2, 3'])}).",
                pick(calls), "))\nrescue => e8\nt(e8.class)\nend\n") },
              "t(\"\#{#{name}.new(#{make})}\")\n")
  end

  def comparable
    name = fresh("Cm")
    statement("class #{name}\ninclude Comparable\nattr_reader :n\ndef initialize(n) = @n = n\ndef <=>(o) = " \
      "o.is_a?(#{name}) ? n <=> o.n : nil\n",
              "def succ = #{name}.new(n + 1)\ndef inspect = \"c\#{n}\"\ndef coerce(o) = [#{name}.new(o), self]\n" \
                "def hash = n.hash\ndef eql?(o) = n == o.n\nend\n",
              *Array.new(3) do
                x, y = Array.new(2) { "#{name}.new(#{rand(4)})" }
                statement("begin\nt(", pick(["#{x} < #{y}", "#{x} == #{y}", "#{x}.clamp(#{y}, #{name}.new(9))",
                  "[#{x}, #{y}].max", "[#{x}, #{y}].sort",
                                             "#{x}.between?(#{y}, #{x})", "(#{x}..#{y}).to_a", "[#{x}, #{y}].uniq",
                                               "#{x} > 1", "[#{x}, 1].min", "{#{x} => 1}[#{y}]",
                                             "(#{x}...#{name}.new(6)).include?(#{y})", "[#{x}, #{y}].minmax",
                                               "#{x} != #{y}", "[#{x}] - [#{y}]", "[#{x}] == [#{y}]",
                                             "[#{x}, #{y}].sort { |m, n| n <=> m }", "(#{x}..#{y}) === #{x}",
                                               "[#{x}, #{y}].include?(#{y})", "#{x}.eql?(#{y})"]),
                                                 ")\nrescue => e8\nt(e8.class)\nend\n")
              end)
  end

  def each_own
    name = fresh("En")
    calls = ["map { |x| x }", "to_a", "sort", "first", "first(2)", "include?(2)", "min", "max", "inject(:+)",
      "each_slice(2).to_a", "reduce { |m, x| m }",
             "each_with_index.to_a", "zip([1, 2, 3])", "group_by { |x| x.class }", "partition { |x| x }",
               "each_cons(2).to_a", "lazy.map { |x| x }.first(2)",
             "each_entry.to_a", "sum", "tally", "min_by { |x| x.to_s }", "each_with_object([]) { |x, m| m << x }",
               "chunk_while { |x, y| x == y }.to_a", "find_index(2)",
             "count", "entries", "reverse_each.to_a", "sort_by { |x| x.to_s }", "take_while { |x| x }",
               "each_entry { |x| t(x) }.class", "flat_map { |x| [x] }", "uniq", "to_h { |x| [x, 1] }",
             "cycle.first(4)", "drop(1)", "filter_map { |x| x }", "zip(self.class::L)", "inject { |x, y| [x, y] }",
               "max(2)", "minmax", "sum { |x| 1 }", "each_slice(2).map(&:first)"]
    yields = pick(["yield 1; yield 2; yield 3", "yield 1, 2; yield 3, 4", "yield [1, 2]; yield 3", "yield; yield nil",
      "L.each { |x| yield x }", "yield 2; yield 1; return self"])
    statement("class #{name}\ninclude Enumerable\nL = [4, 5]\ndef each\nreturn to_enum(:each) unless block_given?\n" \
      "#{yields}\nself\nend\nend\n",
              *Array.new(4) { statement("begin\nt(#{name}.new.", pick(calls), ")\nrescue => e8\nt(e8.class)\nend\n") })
  end

  def freeze_statement
    object = pick(["[1, 2]", "{k: 1}", '"abc"', "Object.new", "Struct.new(:x).new(1)", "(1..2)", ":s", "1", "nil",
      "[[1]]", "Class.new", "proc { 1 }"])
    change = pick(["<< 3", ".concat([1])", ".clear", "[0] = 1", ".instance_variable_set(:@q, 1)", ".x = 2", ".push(1)",
      ".upcase!", ".delete(:k)",
                   ".merge!({})", ".define_singleton_method(:z) { 1 }", ".map! { |x| x }", ".freeze", ".dup << 4",
                     ".clone << 5", ".clone(freeze: false) << 6", ".replace([])",
                   ".sort!", ".store(:z, 1)", ".gsub!(/a/, 'b')", ".extend(Comparable)", ".class_eval { def z = 1 }",
                     ".default = 1", ".compact!", ".strip!", ".uniq!"])
    statement("z = #{object}.freeze\nbegin\nt(z#{change}.class)\nrescue => e8\nt(e8.class)\nend\nt(z.frozen?, " \
      "z.dup.frozen?, z.clone.frozen?)\n")
  end

  def refine_core
    name = fresh("w")
    klass = pick(%w[Integer String Array Hash Symbol NilClass Float Object Kernel Comparable Enumerable Proc Range])
    sample = { "Integer" => "3", "String" => "'x'", "Array" => "[1]", "Hash" => "{}", "Symbol" => ":y",
      "NilClass" => "nil", "Float" => "1.5",
               "Proc" => "proc { }", "Range" => "(1..2)", "Comparable" => "1", "Enumerable" => "[2]" }.fetch(klass,
                 "Object.new")
    kind = %w[Kernel Comparable Enumerable].include?(klass) ? "module" : "class"
    statement("#{kind} #{klass}\ndef #{name}(x = 1) = [:#{name}, x, self.class]\nend\nt(#{sample}.#{name}, " \
      "#{sample}.respond_to?(:#{name}))\n",
              "t(#{sample}.method(:#{name}).owner)\n")
  end

  def defined_statement
    what = pick(["a", "@v", "@zz", "$zz", "zz", "String", "Zz", "puts", "a.foo", "a.to_s", "yield", "super", "1",
      "nil", "self", "a = 1", "[a]", "[zz]",
                 "String.new", "@@x", "a && b", "::Zz", "String::Zz", "b.first.foo", "(a)", "a += 1", "!a", "-> {}",
                   "\"\#{zz}\"", "a.zz.yy", "zz.yy", "t(1)", "b[0]", "b[zz]"])
    statement("t(defined?(", what, "))\n")
  end

  # everyday

  def told(*parts) = statement("begin\nt(", *parts, ")\nrescue => e8\nt(e8.class)\nend\n")

  def format_call
    flags = Array.new(rand(3)) { pick(["-", "+", "0", " ", "#"]) }.uniq.join
    width = pick(["", "", "5", "12", "*"])
    precision = pick(["", "", ".0", ".2", ".10"])
    kind = pick(%w[d i u f e g s p x X o b c %])
    form = pick(["%#{flags}#{width}#{precision}#{kind}", "<%#{flags}#{kind}>", "%<a>#{flags}#{kind}", "%{a}",
                 "%1$s %#{flags}1$#{kind}"])
    taken = if form.match?(/[<{]a/) then "{a: #{pick(VALUES)}}"
            else [*("7" if form.include?("*")), pick(VALUES)].join(", ")
            end
    told("format(#{form.inspect}, #{taken})")
  end

  def heredoc
    mark = pick(["<<~X", "<<-X", "<<~'X'", '<<~"X"'])
    lines = Array.new(1 + rand(3)) { "#{' ' * (2 * (1 + rand(3)))}#{pick(['a', 'b\\tc', '', '\#{a} d',
      '\#{b.first}'])}" }
    statement("t(#{mark}#{pick(['', '.lines', '.size', '.strip'])})\n#{lines.join("\n")}\n  X\n")
  end

  def destructuring
    list = pick(["{a: 1, b: [2, 3]}", "[[1, [2, 3]], [4, 5]]", "[[1, {k: 2}]]", "{1 => {x: 2}}", "[1, nil, [2]]",
      "[[[1]]]"])
    call = pick(%w[each map each_with_index.map flat_map to_a.map each_with_object([]).map sort_by group_by min_by
                   each_entry.map filter_map sum partition reduce inject(0) each_slice(1).map zip([1]).map])
    parameters = pick(["(m, n), o", "m, (n, o)", "m, n = 9, *o", "(m, *n), o", "m, k: 1", "m, **o", "*m, n",
      "(m, (n, o))",
                       "m, n", "m", "*m", "m,", "m, n, o"])
    names = parameters.sub(/= 9|k: 1/) { |word| word.start_with?("k") ? "k" : "" }.delete("()*,").split.uniq
    told("#{list}.#{call} { |#{parameters}| [#{names.join(', ')}] }")
  end

  def copied
    name = fresh("Cp")
    call = pick(["dup", "clone", "clone(freeze: true)", "clone(freeze: false)", "freeze.dup", "freeze.clone",
      "dup.dup"])
    statement("class #{name}\nattr_accessor :v\ndef initialize = @v = [1]\n",
              pick(["", "def initialize_copy(o)\n@v = o.v.dup\nsuper\nend\n", "def initialize_dup(o) = (t(:dup); " \
                "super)\n",
                    "def initialize_clone(o, freeze: nil) = (t(:clone, freeze); super)\n"]),
              "end\no = #{name}.new\ndef o.single = 1\n",
              told("(c = o.#{call}; c.v << 2; [o.v, c.v, c.frozen?, c.respond_to?(:single), c.class == #{name}])"))
  end

  def data_statement
    return small_statement unless defined?(Data) && Data.respond_to?(:define)
    name = fresh("Da")
    calls = ["x", "to_h", "with(x: 5)", "with(5)", "inspect", "==(#{name}.new(1, 2))", "eql?(#{name}.new(1, 2.0))",
      "hash == #{name}.new(1, 2).hash",
             "frozen?", "members", "y = 3", "instance_variable_set(:@z, 1)", "deconstruct_keys([:x])", "total", "dup.x",
             "then { |d| d.x }", "respond_to?(:x=)"]
    make = pick(["1, 2", "x: 1, y: 2", "1", "x: 1", "1, 2, 3", "x: 1, z: 2", "[1, 2]"])
    statement("#{name} = Data.define(:x, :y) do\n",
              pick(["", "def initialize(x:, y: 7) = super\n", "def initialize(x:, y: 0) = super(x: x.to_s, y:)\n"]),
              "def total = [x, y]\nend\n", told("#{name}.new(#{make}).#{pick(calls)}"),
                told("#{name}.new(1, 2).#{pick(calls)}"))
  end

  def curried
    parameters = pick(["x, y", "x, y = 2", "x, *y", "*x", "x, y, z", "", "x, k: 1", "x, k:"])
    kind = pick(["->(#{parameters}) {", "proc { |#{parameters}|", "lambda { |#{parameters}|"])
    names = parameters.delete("*:").gsub(/ = 2|k( 1)?/) { |word| word.start_with?("k") ? "k" : "" }.split(", ")
    call = pick([".curry[1][2]", ".curry.(1)", ".curry(2)[1][2]", ".curry(3)[1, 2][3]", ".arity", ".lambda?",
      ".parameters",
                 ".curry.arity", ".curry.lambda?", ".call(1, 2)", ".(*[1, 2])", ".yield([1, 2])", "[1]",
                   " >> ->(q) { [q] }).call(1, 2",
                 " << ->(q) { [q, q] }).call(1", ".curry.curry.class", ".ruby2_keywords.class", ".to_proc.lambda?"])
    body = "#{kind} [#{names.join(', ')}] }"
    told(call.start_with?(" ") ? "(#{body}#{call})" : "(#{body})#{call}")
  end

  # Where names are found, and where they are put.
  def constants
    name, other = fresh("Na"), fresh("Nb")
    runs = pick(["class_eval", "instance_exec", "class_exec", "new.instance_eval", "new.instance_exec", "tap",
      "singleton_class.class_eval"])
    inner = pick(["%s", "[1].map { %s }", "-> { %s }.call", "1.then { [2].each { t(%s) } }",
      "define_singleton_method(:q#{@count}) { %s }.to_s",
                  "begin; %s; ensure; t(1); end", "Class.new { t((%s rescue 0)) }.class"])
    what = pick(["INHERITED", "OWN", "LATE = 3", "eval('class Made; self; end').to_s", "Module.nesting.to_s", "@@cv",
      "(@@cv = 4)", "defined?(OWN)",
                 "Object.const_defined?(:OWN)", "self.class.to_s", "(def late = 1)", "eval('OWN')",
                   "instance_eval('self.class')",
                 "const_get(:OWN)", "OWN ||= 5", "block_given?", "__method__"])
    statement("class #{name}Base\nINHERITED = 1\n@@cv = 6\nend\nclass #{other}; OWN = 8; end\n",
              "class #{name} < #{name}Base\nOWN = 2\n",
              told("#{other}.#{runs} { #{format(inner, what)} }.to_s.gsub(/#<.*>/, '')"), "end\n",
              told("#{name}.const_defined?(:LATE, false), #{other}.const_defined?(:LATE, false), " \
                "defined?(::LATE), #{other}.method_defined?(:late), #{name}.method_defined?(:late)"),
              "Object.send(:remove_const, :LATE) if defined?(::LATE)\nObject.send(:remove_const, :Made) if " \
                "defined?(::Made)\n")
  end

  def method_name
    name = fresh("mn")
    body = pick(["__method__", "[1].map { __method__ }", "->{ __method__ }.()", "define_singleton_method(:z9) { " \
      "__method__ }; z9",
                 "binding.local_variables.size", "block_given?", "caller.class", "self.to_s.class"])
    statement("def #{name}(x = 1) = (#{body})\nalias al#{name} #{name}\n",
      told("#{name}, al#{name}, method(:al#{name}).name"))
  end

  LIST = ["[3, 1, 2]", "[1, [2, [3, nil]]]", "%w[b a c a]", "[]", "[nil, 0, false]", "(1..4).to_a",
    "[[1, 2], [3]]"].freeze
  LIST_CALLS = %w[pop shift push unshift first last take drop min max sum rotate sample fill insert values_at dig fetch
    slice
                  delete_at delete flatten product transpose zip combination each_cons each_slice cycle uniq count
                    find_index
                  index rindex tally chunk_while slice_when partition group_by sort_by min_by minmax inject each_entry
                  bsearch pack join * + - & | <=> == compact reject! select! keep_if delete_if map! uniq! compact! sort!
                  concat replace clear include? intersect? union difference none? one? all? step filter_map
                    each_with_index
                  assoc rassoc to_h take_while drop_while flat_map sum fill slice!].freeze
  HASHES = ["{a: 1, b: 2}", "{}", "{1 => [2], nil => 3}", "{'x' => {y: 1}}", "Hash.new { |h, k| h[k] = k }"].freeze
  HASH_CALLS = %w[fetch dig key values_at fetch_values merge merge! update reject select filter_map transform_values
                  transform_keys transform_keys! transform_values! to_a invert min_by sum group_by partition sort_by
                    find
                  any? all? count each_with_index delete delete_if keep_if slice except compact store default= key? sort
                  reduce zip to_h flat_map each_with_object any? none? find_all first take compare_by_identity dig <= >
                    ==
                  filter_map sum max_by tally uniq each_slice assoc rassoc rehash default_proc shift clear
                    replace].freeze

  def list_call = any_call(pick(LIST), pick(LIST_CALLS))
  def hash_call = any_call(pick(HASHES), pick(HASH_CALLS))

  def any_call(receiver, name)
    return small_statement if %w[sample cycle].include?(name)
    values = Array.new([0, 1, 1, 2][rand(4)]) { pick(VALUES - ["2**64", "(1..)"] + ["[[1, 2]]", "2", "3"]) }
    block = pick(["", " { |x| x }", " { |x, y| y }", " { |x| x.nil? }", "(&:to_s)", " { |k, v| [v, k] }"])
    block = "" if block.start_with?("(") && values.any?
    values = [values.first || "1"] if name.match?(/\A\W/)
    block = "" if name.match?(/\A\W/)
    call = ".#{name}#{"(#{values.join(', ')})" if values.any?}#{block}"
    result = fresh("r")
    statement("begin\nz = #{receiver}\n#{result} = z#{call}\n" \
      "#{result} = #{result}.first(9) if #{result}.is_a?(Enumerator)\n" \
      "t(#{result}, z)\nrescue => e8\nt(:#{fresh('e')}, e8.class)\nend\n")
  end

  # calls

  RECEIVERS = {
    "String" => ['"abc"', '""', '"Hello World"', '"äöü"', '"a,b,,c"', '" x\\n"', '"12abc"', '"aXbXc"', '"\\u0000z"',
      '"3.7e2"'],
    "Integer" => %w[0 1 -7 255 10 2**64 -2**65 1000003],
    "Float" => %w[0.0 1.5 -2.75 1e20 1.0/3 Float::INFINITY Float::NAN -0.0 1e-7],
    "Array" => ["[]", "[1, 2, 3]", "[3, 1, 2]", "[[1, 2], [3, 4]]", "[nil, 1]", "%w[b a c]", "[1, [2, [3]]]",
      "[1, 1, 2]", "[1.0, 2, 3r.to_i]"],
    "Hash" => ["{}", "{a: 1, b: 2}", "{1 => 2}", "{'x' => nil}", "{a: {b: 1}}", "Hash.new(5)", "{b: 2, a: 1}"],
    "Range" => ["(1..5)", "(1...5)", "('a'..'e')", "(5..1)", "(1..)", "(1.0..2.0)", "(..3)"],
    "Symbol" => [":abc", ":a?", ":+", ":\"x y\"", ":A"],
    "NilClass" => ["nil"], "Proc" => ["proc { |x, y| [x, y] }", "->(x) { x }", "method(:t).to_proc", ":to_s.to_proc"],
    "Enumerator" => ["[1, 2, 3].each", "'ab'.each_char", "(1..3).each_slice(2)", "[4, 5].each_with_index",
      "[1, 2].map", "loop"],
    "Comparable" => ["5"]
  }.freeze
  SKIP = %i[object_id __id__ hash instance_variable_set instance_eval instance_exec send __send__ public_send method
    methods
            public_methods private_methods singleton_methods protected_methods display pp crypt unicode_normalize
              unicode_normalize!
            unicode_normalized? to_r to_c rationalize real imaginary imag abs2 arg angle phase polar rect rectangular
              conj conjugate
            numerator denominator cycle loop step pack unpack unpack1 encode encoding force_encoding shuffle shuffle!
              sample sleep
            extend instance_variables taint untaint trust tainted? source_location binding to_enum enum_for
              ruby2_keywords i
            singleton_class define_singleton_method singleton_method public_method undump dump valid_encoding? scrub quo
            inspect itself dup clone yield_self tap then instance_variable_get instance_variable_defined?
              remove_instance_variable
            fork exit abort with_index each_entry next peek size rewind bsearch permutation combination product
            repeated_permutation repeated_combination to_json json_creatable? to_yaml rand curry].freeze
  VALUES = ["1", "0", "-1", "2", "nil", '"a"', '""', '"b"', ":a", "[]", "[1]", "(0..1)", "1.5", "{}", "{a: 1}", "/a/",
    "5", "true", "-3", "'abc'", "10",
            "[1, 2]", "(1..)", "2**64", "Object"].freeze
  BLOCKS = ["", "", "", " { |x| x }", " { |x, y| [x, y] }", " { |x| x.to_s }", " { true }", " { nil }", " { |x| 1 }",
    "(&:to_s)"].freeze

  def core_call
    kind = pick(RECEIVERS.keys)
    receiver = pick(RECEIVERS[kind])
    known = CALLS[kind] ||= Object.const_get(kind).public_instance_methods(true).grep(CALLED) - SKIP
    name = pick(known)
    arguments = Array.new([0, 0, 1, 1, 2, 3][rand(6)]) { pick(VALUES) }
    block = pick(BLOCKS)
    return core_call if receiver == "loop"
    endless = receiver.match?(/\A\(1\.\.\)|INF|\.\.\)/)
    return core_call if endless && !%i[first include? begin end cover? ===].include?(name)
    return core_call if name.match?(LARGE) && (arguments.join + receiver).include?("2**")
    call = block == "(&:to_s)" ? "(#{[*arguments, '&:to_s'].join(', ')})" : "(#{arguments.join(', ')})#{block}"
    result = fresh("r")
    statement("begin\nz = #{receiver}\n#{result} = z.#{name}#{call}\n",
              "#{result} = #{result}.first(9) if #{result}.is_a?(Enumerator)\n",
              "t(#{result}, z.is_a?(Enumerator) ? 0 : z)\n",
              "rescue => e8\nt(:#{name}, e8.class)\nend\n".sub(":#{name}", name.inspect))
  end

  CALLS = {}
  CALLED = /\A[a-z_]+[?!]?\z|\A[-+*\/%<=>!~&|^\[\]]+\z/.freeze
  # What these make can be larger than any memory.
  LARGE = /\A(\*|<<|ljust|rjust|center|\*\*|pow|lcm|digits|upto|downto|times)\z/.freeze
end
