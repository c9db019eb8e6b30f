# frozen_string_literal: true

# The second part for thin.yml: YAML with ERB in it, each key with its line.

require "erb"
require "yaml"

path, = ARGV
calls = []
begin
  text = ERB.new(File.read(path, encoding: "UTF-8")).result
  document = YAML.parse(text)
  values = document ? document.to_ruby : {}
  raise ArgumentError, "is not a list of keys with their values" unless values.is_a?(Hash)

  lines = document ? document.root.children.each_slice(2).map { |key, _| key.start_line + 1 } : []
  values.each_with_index do |(name, value), at|
    written = FoolsGold.utf8("#{name}: #{value.is_a?(Hash) || value.is_a?(Array) ? '...' : value}")
    calls << { "name" => name.to_s, "line" => lines[at], "file" => path, "block" => false,
               "args" => [FoolsGold.plain(value)], "written" => written }
  end
rescue Exception => error # Psych's errors are no StandardError in old versions; ERB may have any code in it.
  failure = error
end
FoolsGold.tell(calls, failure, path)
