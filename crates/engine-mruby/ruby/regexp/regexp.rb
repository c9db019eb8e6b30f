# The methods of Regexp and MatchData that need no C; the others are in c/regexp.c, c/match.c and c/subject.c. Each
# method that matches for its caller sets the caller's `$~` by FoolsGold.last_match=.

class Regexp
  class << self
    # A Regexp that matches whatever one of these matches; a String matches itself.
    def union(*patterns)
      patterns = patterns.first if patterns.length == 1 && patterns.first.is_a?(Array)
      return /(?!)/ if patterns.empty?
      parts = patterns.map do |pattern|
        next pattern if pattern.is_a?(Regexp)
        escape(pattern.is_a?(Symbol) ? pattern.to_s : pattern)
      end
      return (parts[0].is_a?(Regexp) ? parts[0] : new(parts[0])) if parts.length == 1
      new(parts.map { |part| part.to_s }.join("|"))
    end

    def try_convert(object)
      return object if object.is_a?(Regexp)
      object.respond_to?(:to_regexp) ? object.to_regexp : nil
    end

    # Whether a search takes linear time (ruby-regexp/src/plain.rs).
    def linear_time?(*args)
      new(*args).__linear?
    end
  end

  def ~
    text = $_
    position = text.is_a?(String) ? self =~ text : nil
    FoolsGold.last_match = $~
    position
  end

  def casefold?
    options & IGNORECASE != 0
  end

  def named_captures
    names.map { |name| [name, __groups(name)] }.to_h
  end

  def encoding
    Object.const_defined?(:Encoding) ? Encoding::UTF_8 : "UTF-8"
  end
end

class MatchData
  def names
    regexp.names
  end

  def named_captures(symbolize_names: false)
    names.map { |name| [symbolize_names ? name.to_sym : name, self[name]] }.to_h
  end

  def deconstruct_keys(keys)
    all = named_captures(symbolize_names: true)
    keys ? all.select { |name, _| keys.include?(name) } : all
  end

  def values_at(*groups)
    groups.flat_map do |group|
      group.is_a?(Range) ? to_a.values_at(group) : [self[group]]
    end
  end

  def match(group)
    self.begin(group) # raises an IndexError where there is no such group
    self[group]
  end

  def match_length(group)
    match(group)&.length
  end

  def hash
    to_a.hash
  end

  def inspect
    labels = (0...size).to_a
    regexp.named_captures.each { |name, groups| groups.each { |group| labels[group] = name } }
    parts = to_a.each_with_index.map { |text, group| group == 0 ? text.inspect : "#{labels[group]}:#{text.inspect}" }
    "#<MatchData #{parts.join(' ')}>"
  end
end

module Kernel
  def !~(other)
    found = self =~ other
    FoolsGold.last_match = $~
    !found
  end
end

class NilClass
  def =~(_other)
    nil
  end
end

class Symbol
  def =~(pattern)
    found = to_s =~ pattern
    FoolsGold.last_match = $~
    found
  end

  def match(*args, &block)
    found = to_s.match(*args)
    FoolsGold.last_match = $~
    found && block ? block.call(found) : found
  end

  def match?(*args)
    to_s.match?(*args)
  end

  def [](*args)
    found = to_s[*args]
    FoolsGold.last_match = $~ if args[0].is_a?(Regexp)
    found
  end
  alias slice []
end

module Enumerable
  # `$~` in the block is the match of its own element.
  def grep(pattern, &block)
    found = []
    each do |*element|
      element = element.__svalue
      next unless pattern === element
      FoolsGold.last_match = $~ if block && pattern.is_a?(Regexp)
      found << (block ? block.call(element) : element)
    end
    found
  end

  def grep_v(pattern, &block)
    found = []
    each do |*element|
      element = element.__svalue
      next if pattern === element
      found << (block ? block.call(element) : element)
    end
    found
  end
end
