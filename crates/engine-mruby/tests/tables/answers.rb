# Writes CRuby's answers into a table of expressions. Usage: ruby answers.rb TABLE... A table has expressions of one
# line each; below each stands its value, inspected, behind "#=> ", or the class of the exception it raises behind "#=>
# ! ". Lines that begin with "# " and empty lines stay as they are.

require "set"

def answer(code)
  "#=> #{eval(code, TOPLEVEL_BINDING.dup).inspect}"
rescue Exception => error
  "#=> ! #{error.class}"
end

ARGV.each do |path|
  lines = File.readlines(path, chomp: true).reject { |line| line.start_with?("#=> ") }
  lines = lines.flat_map { |line| line.empty? || line.start_with?("# ") ? [line] : [line, answer(line)] }
  File.write(path, lines.join("\n") + "\n")
end
