# Shellwords: a line as the words of a shell, and words as a line.

module Shellwords
  module_function

  def shellsplit(line)
    words = []
    field = ""
    form = /\G\s*(?>([^\0\s\\'"]+)|'([^\0']*)'|"((?:[^\0"\\]|\\[^\0])*)"|(\\[^\0]?)|(\S))(\s|\z)?/m
    line.scan(form) do |word, single, double, escape, garbage, separator|
      raise ArgumentError, "Unmatched quote: #{line}" if garbage
      field += word || single || (double && double.gsub(/\\([$`"\\\n])/, '\\1')) || escape.gsub(/\\(.)/, '\\1')
      next unless separator
      words << field
      field = ""
    end
    words
  end
  alias shellwords shellsplit
  alias split shellsplit

  def shellescape(text)
    text = text.to_s
    return "''" if text.empty?
    text.gsub(%r{[^A-Za-z0-9_\-.,:+/@\n]}, "\\\\\\&").gsub(/\n/, "'\n'")
  end
  alias escape shellescape

  def shelljoin(words) = words.map { |word| shellescape(word) }.join(" ")
  alias join shelljoin

  module_function :shellwords, :split, :escape, :join
end

class String
  def shellsplit = Shellwords.split(self)
  def shellescape = Shellwords.escape(self)
end

class Array
  def shelljoin = Shellwords.join(self)
end
