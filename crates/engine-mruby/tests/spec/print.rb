# Prints a table of expressions anew, with CRuby's values: ruby print.rb TABLE >NEW
# A line is `expression #=> value, inspected`, or `expression #=> !Class` for an exception; other lines stay.

def __value(expression)
  # In a method of its own, as in tests/spec.rs, where the tables run on mruby.
  eval("def __case\n#{expression}\nend")
  __case.inspect.gsub("\n", "\\n")
rescue Exception => error
  "!#{error.class}"
end

$VERBOSE = nil
eval(File.foreach(ARGV.fetch(0)).find { |line| line.start_with?("# before: ") }.to_s.delete_prefix("# before: "),
     TOPLEVEL_BINDING)
File.readlines(ARGV.fetch(0), chomp: true).each do |line|
  next puts line if line.strip.empty? || line.start_with?("# ")
  expression = line.split(" #=> ", 2).first.rstrip
  puts "#{expression} #=> #{__value(expression)}"
end
