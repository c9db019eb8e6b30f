# Runs one file of ruby/spec, on CRuby and on the embedded interpreter alike, and yields a line for each example:
# "ok", "no" (with the error) or "skip", a tab, the example's name. It understands what those files are written in
# (describe, it, should, mocks, guards). Used by bin/ruby-spec; on CRuby: ruby runner.rb FILE VERSION PLATFORM.

ENV["MSPEC_RUNNER"] = "1"

class SpecExpectationNotMetError < StandardError; end
class SkippedSpecError < StandardError; end

# What is being run, and the line for each example.
module SpecRun
  class << self
    attr_accessor :context, :inside, :expected, :version, :platform
    attr_reader :shared

    def run(path, version, platform, &sink)
      @version = version
      @platform = platform
      @sink = sink
      @shared = {}
      @expected = false
      @env = MSpecEnv.new
      guarded("load", File.basename(path)) { Kernel.load path }
      @sink.call("end\t")
    end

    def say(kind, name, text = nil)
      fields = [kind, name.to_s, text].compact
      @sink.call(fields.map { |field| field.gsub("\n", "\\n").gsub("\t", " ")[0, 600] }.join("\t"))
    end

    def describe(name, options, block)
      outer = @context
      context = SpecContext.new(name.to_s, outer)
      outer.children << context if outer && !(options && options[:shared])
      @context = context
      whole = guarded("load", context.full_name) { @env.instance_exec(&block) }
      @context = outer
      context.examples.clear unless whole
      if options && options[:shared]
        context.parent = nil
        @shared[name.to_s] = context
      elsif outer.nil?
        process(context)
      end
    end

    def process(context)
      before = @context
      @context = context
      each_example(context) unless context.examples.empty?
      context.children.each { |child| process(child) }
      @context = before
    end

    def each_example(context)
      error = first_error { context.hooks_before(:all).each { |hook| @env.instance_exec(&hook) } }
      context.examples.each do |name, block|
        full = "#{context.full_name} #{name}"
        say_end(full, error || example(context, block))
      end
      first_error { context.hooks_after(:all).each { |hook| @env.instance_exec(&hook) } }
      Mocks.clean
    end

    # The first thing that went wrong, or nil.
    def example(context, block)
      @inside = true
      @expected = false
      error = first_error do
        context.hooks_before(:each).each { |hook| @env.instance_exec(&hook) }
        @env.instance_exec(&block)
        raise SpecExpectationNotMetError, "no expectation" unless @expected
      end
      later = first_error { context.hooks_after(:each).each { |hook| @env.instance_exec(&hook) } }
      unmet = first_error { Mocks.verify }
      error || later || unmet
    ensure
      first_error { Mocks.clean }
      @inside = false
    end

    def first_error
      yield
      nil
    rescue Exception => error
      error
    end

    def say_end(name, error)
      case error
      when nil then say("ok", name)
      when SkippedSpecError then say("skip", name)
      else say("no", name, text_of(error))
      end
    end

    def guarded(kind, name)
      error = first_error { yield }
      say(kind, name, text_of(error)) if error && !(SkippedSpecError === error)
      error.nil?
    end

    def text_of(error)
      text = first_line(error)
      place = (error.backtrace || []).find { |line| line.to_s.include?("_spec.rb:") || line.to_s.include?("/shared/") }
      place = place ? " [#{place.to_s.split("/").last.split(":")[0, 2].join(":")}]" : ""
      kind = SpecExpectationNotMetError === error ? "" : "#{error.class}: "
      "#{kind}#{text}#{place}"
    end

    def first_line(error)
      error.message.to_s.split("\n").first.to_s[0, 400]
    rescue Exception
      "(its message raises)"
    end

    # A value as one line, whatever it is.
    def show(value)
      value.inspect.to_s[0, 160]
    rescue Exception
      "(its inspect raises)"
    end

    def fail(text)
      raise SpecExpectationNotMetError, text
    end
  end
end

# A `describe`: its hooks, its examples, and those within it.
class SpecContext
  attr_reader :name, :examples, :children, :befores, :afters
  attr_accessor :parent

  def initialize(name, parent)
    @name = name
    @parent = parent
    @examples = []
    @children = []
    @befores = { all: [], each: [] }
    @afters = { all: [], each: [] }
  end

  def full_name
    @parent ? "#{@parent.full_name} #{@name}" : @name
  end

  def hooks_before(at)
    (@parent ? @parent.hooks_before(at) : []) + @befores[at]
  end

  def hooks_after(at)
    @afters[at] + (@parent ? @parent.hooks_after(at) : [])
  end

  # Takes in what a shared `describe` has.
  def take(shared)
    [:all, :each].each do |at|
      @befores[at].concat(shared.befores[at])
      @afters[at] = shared.afters[at] + @afters[at]
    end
    @examples.concat(shared.examples)
    shared.children.each { |child| @children << child.copy(self) }
  end

  def copy(parent)
    copy = SpecContext.new(@name, parent)
    copy.take(self)
    copy
  end
end

class Object
  private

  def describe(name, options = nil, &block)
    SpecRun.describe(name, options, block)
  end

  def context(name, options = nil, &block)
    SpecRun.describe(name, options, block)
  end

  def it(name, &block)
    SpecRun.context.examples << [name.to_s, block] if block
  end

  def specify(name, &block)
    SpecRun.context.examples << [name.to_s, block] if block
  end

  def before(at = :each, &block)
    SpecRun.context.befores[at] << block
  end

  def after(at = :each, &block)
    SpecRun.context.afters[at].unshift(block)
  end

  def it_should_behave_like(name)
    shared = SpecRun.shared[name.to_s] or raise "no shared describe #{name}"
    SpecRun.context.take(shared)
  end

  def it_behaves_like(name, method, object = nil)
    before(:all) { @method = method; @object = object }
    after(:all) { @method = nil; @object = nil }
    it_should_behave_like(name)
  end

  def evaluate(text, description = nil, &block)
    SpecEvaluate.new(text, description).define(&block)
  end

  # Guards. Both interpreters are asked as if they were the one that is compared with.

  def guard(condition)
    yield if condition.call
  end

  def guard_not(condition)
    yield unless condition.call
  end

  def ruby_version_is(wanted)
    fits = VersionGuard.fits?(SpecRun.version, wanted)
    block_given? ? (yield if fits) : fits
  end

  def version_is(version, wanted)
    fits = VersionGuard.fits?(version.to_s, wanted)
    block_given? ? (yield if fits) : fits
  end

  def kernel_version_is(*) = nil

  def ruby_bug(_name, wanted)
    yield unless VersionGuard.fits?(SpecRun.version, wanted)
  end

  def platform_is(*names)
    fits = PlatformGuard.fits?(names)
    block_given? ? (yield if fits) : fits
  end

  def platform_is_not(*names)
    fits = !PlatformGuard.fits?(names)
    block_given? ? (yield if fits) : fits
  end

  def not_supported_on(*) = yield
  def not_compliant_on(*) = yield
  def conflicts_with(*) = yield
  def as_user = yield
  def little_endian = yield
  def big_endian = nil
  def as_superuser = nil
  def as_real_superuser = nil
  def with_block_device = nil
  def quarantine! = nil

  def with_feature(*names)
    yield unless names.include?(:fork)
  end

  def without_feature(*names)
    yield if names.include?(:fork)
  end

  # Helpers.

  def mock(name, options = {})
    MockObject.new(name, options)
  end

  def mock_int(value)
    MockIntObject.new(value)
  end

  def mock_numeric(name, options = {})
    NumericMockObject.new(name, options)
  end

  def mock_to_path(path)
    object = MockObject.new("path")
    object.should_receive(:to_path).and_return(path)
    object
  end

  def suppress_warning
    was = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = was
  end

  def suppress_keyword_warning(&block)
    suppress_warning(&block)
  end

  def nan_value = 0 / 0.0
  def infinity_value = 1 / 0.0
  def bignum_value(plus = 0) = 2**64 + plus
  def max_long = 2**63 - 1
  def min_long = -(2**63)
  def fixnum_max = 2**62 - 1
  def fixnum_min = -(2**62)

  def flunk(text = "flunk")
    SpecRun.fail(text)
  end

  def skip(reason = nil)
    raise SkippedSpecError, reason.to_s
  end

  # What starts processes or writes files is nothing the embedded interpreter has: not compared.
  %i[ruby_exe ruby_cmd tmp touch mkdir_p rm_r cp new_io new_fd argf output_to_fd].each do |name|
    define_method(name) { |*, &_block| raise SkippedSpecError, name.to_s }
    private name
  end

  def argv(args)
    saved = ARGV.dup
    ARGV.replace(args)
    yield
  ensure
    ARGV.replace(saved)
  end

  def fixture(file, *args)
    folder = File.dirname(file).delete_suffix("/shared")
    folder = File.realpath(folder)
    File.join(folder, folder.end_with?("/fixtures") ? "" : "fixtures", args)
  end

  def with_timezone(name, offset = nil, summer = "")
    was = ENV["TZ"]
    ENV["TZ"] = offset ? "#{name}#{-offset}:00:00#{summer}" : "#{name}#{summer}"
    yield
  ensure
    ENV["TZ"] = was
  end

  def new_datetime(given = {})
    require "date"
    parts = { year: -4712, month: 1, day: 1, hour: 0, minute: 0, second: 0, offset: 0, sg: Date::ITALY }.merge(given)
    DateTime.new(*%i[year month day hour minute second offset sg].map { |part| parts[part] })
  end
end

class SpecVersion
  include Comparable
  attr_reader :parts

  def initialize(text)
    @parts = (text.to_s.split(".") + %w[0 0 0])[0, 3].map { |part| part.to_i }
  end

  def <=>(other)
    parts <=> (SpecVersion === other ? other : SpecVersion.new(other)).parts
  end
end

module VersionGuard
  FULL_RUBY_VERSION = SpecVersion.new("99")

  def self.fits?(version, wanted)
    version = SpecVersion.new(version)
    return version >= SpecVersion.new(wanted) unless Range === wanted
    return false if version < SpecVersion.new(wanted.begin)
    return true if wanted.end.nil? || wanted.end.to_s.empty?
    order = version <=> SpecVersion.new(wanted.end)
    wanted.exclude_end? ? order < 0 : order <= 0
  end
end

module PlatformGuard
  POINTER_SIZE = 64

  def self.fits?(names)
    options = Hash === names.last ? names.last : {}
    names = names.reject { |name| Hash === name }
    (names.empty? || os?(*names)) && options.all? do |key, value|
      key == :os ? os?(*value) : value == 64
    end
  end

  def self.os?(*names) = names.any? { |name| SpecRun.platform.include?(name.to_s) }
  def self.standard? = true
  def self.implementation?(*names) = names.include?(:ruby)
  def self.windows? = false
  def self.wsl? = false
  def self.wasi? = false
  def self.c_long_size?(size) = size == 64
  def self.pointer_size?(size) = size == 64
end

TOLERANCE = 0.00003
TIME_TOLERANCE = 20.0

module ScratchPad
  class << self
    attr_reader :recorded

    def record(value)
      @recorded = value
    end

    def clear
      @recorded = nil
    end

    def <<(value)
      @recorded << value
    end
  end
end

# What is printed in an example.
class IOStub
  def initialize
    @text = +""
  end

  def write(*parts)
    @text << parts.join
    parts.join.bytesize
  end

  def <<(part)
    @text << part.to_s
    self
  end

  def print(*parts)
    write(*parts)
    nil
  end

  def puts(*parts)
    return write("\n") if parts.empty?
    parts.flatten.each { |part| write(part.to_s.chomp, "\n") }
    nil
  end

  def printf(format, *args)
    write(sprintf(format, *args))
  end

  def flush = self
  def to_s = @text
  def to_str = @text
  def ==(other) = @text == other
  def =~(other) = @text =~ other
  def inspect = @text.inspect

  def method_missing(name, *args, &block)
    @text.__send__(name, *args, &block)
  end
end

class SpecEvaluate
  class << self
    attr_accessor :desc
  end

  def initialize(text, description)
    @text = text
    @description = description || SpecEvaluate.desc || "evaluates "
  end

  def define(&block)
    text = @text
    evaluator = self
    it("#{@description} #{text.strip}") do
      evaluator.instance_eval(text)
      evaluator.instance_eval(&block)
    end
  end
end

module MSpec
  def self.enable_feature(_name) = nil
  def self.disable_feature(_name) = nil
  def self.feature_enabled?(name) = name != :fork
end

# Expectations.

class SpecTruth < BasicObject
  def initialize(actual, wanted)
    @actual = actual
    @wanted = wanted
  end

  def ==(other)
    __check(:==, [other], @actual == other)
  end

  def !=(other)
    __check(:!=, [other], @actual != other)
  end

  def equal?(other)
    __check(:equal?, [other], @actual.equal?(other))
  end

  def raise(kind = ::Exception, message = nil, options = nil, &block)
    matcher = ::RaiseErrorMatcher.new(kind, message, options, &block)
    ::SpecMatch.check(matcher, @actual, @wanted)
  end

  def method_missing(name, *args, &block)
    __check(name, args, @actual.__send__(name, *args, &block))
  end

  def __check(name, args, result)
    return if (result ? true : false) == @wanted
    shown = args.map { |arg| ::SpecRun.show(arg) }.join(", ")
    ::SpecRun.fail("#{::SpecRun.show(@actual)} should#{@wanted ? "" : " not"} #{name} #{shown}")
  end
end

module SpecMatch
  def self.check(matcher, actual, wanted)
    return if (matcher.matches?(actual) ? true : false) == wanted
    SpecRun.fail("#{SpecRun.show(actual)} should#{wanted ? "" : " not"} #{matcher.text}")
  end
end

class Object
  NO_MATCHER_GIVEN = Object.new

  def should(matcher = NO_MATCHER_GIVEN, &block)
    SpecRun.expected = true
    return SpecTruth.new(self, true) if NO_MATCHER_GIVEN.equal?(matcher)
    matcher.block = block if block
    SpecMatch.check(matcher, self, true)
  end

  def should_not(matcher = NO_MATCHER_GIVEN, &block)
    SpecRun.expected = true
    return SpecTruth.new(self, false) if NO_MATCHER_GIVEN.equal?(matcher)
    matcher.block = block if block
    SpecMatch.check(matcher, self, false)
  end

  def should_receive(name)
    SpecRun.expected = true
    Mocks.install(self, name, :mock)
  end

  def should_not_receive(name)
    SpecRun.expected = true
    Mocks.install(self, name, :mock).exactly(0)
  end

  def stub!(name)
    Mocks.install(self, name, :stub)
  end
end

class RaiseErrorMatcher
  attr_writer :block

  def initialize(kind, message, options, &block)
    message, options = nil, message if Hash === message
    @kind = kind
    @message = message
    @options = options || {}
    @block = block
  end

  def matches?(code)
    @error = nil
    begin
      @value = code.call
    rescue Exception => error
      @error = error
    end
    return false unless @error
    raise @error unless fits?(@error)
    @block.call(@error) if @block
    true
  end

  def fits?(error)
    return false unless @kind === error
    return false if @options.key?(:cause) && @options[:cause] != error.cause
    case @message
    when String then @message == error.message
    when Regexp then @message.match?(error.message)
    else true
    end
  end

  def text
    "raise #{@kind}#{" " + SpecRun.show(@message) if @message}" + (@error ? "" : "; it gave #{SpecRun.show(@value)}")
  end
end

# A matcher that is a question with an answer.
class SpecMatcher
  attr_writer :block
  attr_reader :text

  def initialize(text, &question)
    @text = text
    @question = question
  end

  def matches?(actual)
    @question.call(actual)
  end
end

module MSpecMatchers
  private

  def raise_error(kind = Exception, message = nil, options = nil, &block)
    RaiseErrorMatcher.new(kind, message, options, &block)
  end

  # CRuby before 4.1 has other messages.
  def raise_consistent_error(kind = Exception, _message = nil, options = nil, &block)
    RaiseErrorMatcher.new(kind, nil, options, &block)
  end

  def be_close(wanted, tolerance)
    SpecMatcher.new("be close to #{wanted}") { |actual| (actual - wanted).abs <= tolerance }
  end

  def be_positive_zero
    SpecMatcher.new("be 0.0") { |actual| (1.0 / actual).infinite? == 1 }
  end

  def be_negative_zero
    SpecMatcher.new("be -0.0") { |actual| (1.0 / actual).infinite? == -1 }
  end

  def be_computed_by(name, *more)
    said = SpecMatcher.new("be computed by #{name}") do |lines|
      lines.all? do |line|
        receiver, *args, value = *line
        receiver.__send__(name, *args, *more) == value
      end
    end
    said
  end

  def complain(wanted = nil, options = nil)
    wanted, options = nil, wanted if Hash === wanted
    SpecMatcher.new("complain #{SpecRun.show(wanted)}") do |code|
      err, verbose = $stderr, $VERBOSE
      begin
        $stderr = written = IOStub.new
        $VERBOSE = options && options.key?(:verbose) ? options[:verbose] : false
        code.call
      ensure
        $stderr, $VERBOSE = err, verbose
      end
      text = written.to_s
      case wanted
      when nil then !text.empty?
      when Regexp then wanted.match?(text)
      else !text.empty? && text == wanted
      end
    end
  end

  def output(out = nil, err = nil)
    SpecMatcher.new("print #{SpecRun.show(out || err)}") do |code|
      saved = [$stdout, $stderr]
      begin
        $stdout = stdout = IOStub.new
        $stderr = stderr = IOStub.new
        code.call
      ensure
        $stdout, $stderr = saved
      end
      [[out, stdout], [err, stderr]].all? do |wanted, written|
        wanted.nil? || (Regexp === wanted ? wanted.match?(written.to_s) : wanted == written.to_s)
      end
    end
  end

  def equal_element(element, attributes = nil, content = nil, options = {})
    SpecMatcher.new("be an element #{element}") do |text|
      fits = text.start_with?("<#{element}")
      if options[:not_closed]
        fits &&= text.match?(/^#{Regexp.escape("<" + element)}.*#{Regexp.escape(">" + content.to_s)}$/)
      else
        fits &&= text.end_with?("</#{element}>")
        fits &&= text.include?(">#{content}</") if content
      end
      fits &&= text.scan(/\w+="(.*)"/).empty? if attributes && attributes.empty?
      (attributes || {}).each do |key, value|
        found = value == true ? text.scan(/#{Regexp.escape(key)}(\s|>)/) : text.scan(%( #{key}="#{value}"))
        fits &&= found.size == 1
      end
      fits
    end
  end

  def block_caller
    SpecMatcher.new("block its caller") do |code|
      thread = Thread.new { code.call }
      Thread.pass until ["sleep", false, nil].include?(thread.status)
      blocked = thread.status == "sleep"
      thread.kill
      thread.join
      blocked
    end
  end
end

class MSpecEnv
  include MSpecMatchers
end

class Module
  include MSpecMatchers
end

class SpecEvaluate
  include MSpecMatchers
end

# Methods put in place of others for one example.
module Mocks
  class Entry
    attr_reader :object, :name, :saved, :mocks, :stubs

    def initialize(object, name)
      @object = object
      @name = name
      @mocks = []
      @stubs = []
      @saved = :"__spec_saved_#{name}__" if name == :respond_to? || Mocks.responds?(object, name)
      saved = @saved
      entry = self
      object.singleton_class.class_eval do
        alias_method saved, name if saved
        define_method(name) { |*args, &block| Mocks.called(entry, args, block) }
      end
    end

    def restore
      saved, name = @saved, @name
      @object.singleton_class.class_eval do
        if saved
          alias_method name, saved
          remove_method saved
        else
          remove_method name
        end
      end
    end
  end

  class << self
    def entries
      @entries ||= {}.compare_by_identity
    end

    def ints
      @ints ||= []
    end

    def responds?(object, name)
      asked = (entries[object] || {})[:respond_to?]
      asked ? object.__send__(asked.saved, name, true) : object.respond_to?(name, true)
    end

    def install(object, name, kind)
      name = name.to_sym
      own = (entries[object] ||= {})
      entry = own[name]
      return MockProxy.new(:stub) if kind == :stub && entry && !entry.mocks.empty?
      entry ||= (own[name] = Entry.new(object, name))
      proxy = MockProxy.new(kind)
      if kind == :stub
        entry.stubs.unshift(proxy)
      else
        entry.stubs.clear
        entry.mocks << proxy
      end
      proxy
    end

    def called(entry, args, block)
      given = args.size <= 1 ? args.first : args
      (entry.mocks + entry.stubs).each do |proxy|
        proxy.yields.each do |values|
          SpecRun.fail("#{entry.name} was to yield, and has no block") unless block
          block.call(*values)
        end
        next unless proxy.takes?(given)
        return proxy.call
      end
      if entry.name == :respond_to?
        entry.object.__send__(entry.saved, *args)
      else
        SpecRun.fail("mock: #{entry.name} called with unexpected arguments #{SpecRun.show(args)}")
      end
    end

    def verify
      entries.each_value do |own|
        own.each_value do |entry|
          entry.mocks.each do |proxy|
            next if proxy.satisfied?
            SpecRun.fail("mock: #{entry.name} was to be called #{proxy.wanted}, and was #{proxy.calls} times")
          end
        end
      end
      ints.each { |int| SpecRun.fail("mock: to_int was not called") if int.calls == 0 }
    end

    def clean
      entries.each_value { |own| own.each_value { |entry| SpecRun.first_error { entry.restore } } }
      @entries = nil
      @ints = nil
    end
  end
end

class MockProxy
  attr_reader :calls, :yields

  def initialize(kind)
    @calls = 0
    @yields = []
    @arguments = :any_args
    @count = kind == :stub ? [:any, 0] : [:exactly, 1]
    @values = nil
  end

  def takes?(given)
    case @arguments
    when :any_args then true
    when :no_args then given.nil?
    else @arguments == given
    end
  end

  def call
    @calls += 1
    raise @error if @error
    return nil unless @values
    @values.size > 1 ? @values.shift : @values.first
  end

  def satisfied?
    kind, count = @count
    case kind
    when :any then true
    when :at_least then @calls >= count
    when :at_most then @calls <= count
    else @calls == count
    end
  end

  def wanted = @count.join(" ")

  def times = self

  def exactly(count) = counted(:exactly, count)
  def at_least(count) = counted(:at_least, count)
  def at_most(count) = counted(:at_most, count)
  def once = counted(:exactly, 1)
  def twice = counted(:exactly, 2)
  def any_number_of_times = counted(:any, 0)

  def with(*args)
    @arguments = args.size == 1 ? args.first : args
    self
  end

  def and_return(*values)
    @values = values.empty? ? nil : values
    @count[1] = values.size if values.size > 1 && @count[1] < values.size
    self
  end

  def and_raise(error)
    @error = String === error ? RuntimeError.new(error) : error
    self
  end

  def and_yield(*values)
    @yields << values
    self
  end

  private

  def counted(kind, count)
    count = { once: 1, twice: 2 }[count] || count
    @count = [kind, count]
    self
  end
end

class MockObject
  def initialize(name, options = {})
    @name = name
    @null = options[:null_object]
  end

  private

  def method_missing(name, *args, &block)
    @null ? self : super
  end
end

class NumericMockObject < Numeric
  def initialize(name, options = {})
    @name = name
    @null = options[:null_object]
  end

  def method_missing(name, *args, &block)
    @null ? self : super
  end

  def singleton_method_added(_name) = nil
end

class MockIntObject
  attr_reader :calls

  def initialize(value)
    @value = value
    @calls = 0
    Mocks.ints << self
  end

  def to_int
    @calls += 1
    @value.to_int
  end
end

if RUBY_ENGINE == "ruby" && $PROGRAM_NAME == __FILE__
  out = $stdout.dup
  out.sync = true
  # Each file says where it is.
  SpecRun.run(File.realpath(ARGV[0]), ARGV[1], ARGV[2]) { |line| out.write(line, "\n") }
  out.flush
  exit!(0)
end
