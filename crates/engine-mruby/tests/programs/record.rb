# Writes the traces on CRuby into tables of programs. Usage: ruby record.rb TABLE... A program begins below a line "##
# title"; its trace (trace.rb) stands below it behind "#=> ".

require "tmpdir"
require_relative "trace"

$VERBOSE = nil

def answers(code)
  Dir.mktmpdir do |folder|
    path = File.join(folder, "program.rb")
    File.write(path, code)
    IO.popen("-") do |pipe|
      next pipe.read.lines(chomp: true) if pipe
      puts Programs.run(path)
      exit!(0) if $stdout.flush
    end
  end
end

ARGV.each do |table|
  lines = File.readlines(table, chomp: true).reject { |line| line.start_with?("#=> ") }
  programs = lines.slice_before { |line| line.start_with?("## ") }.to_a
  head = programs.first.first.start_with?("## ") ? [] : programs.shift
  programs = programs.map do |title, *code|
    code.pop while code.last&.empty?
    [title, *code, *answers(code.join("\n") + "\n").map { |line| "#=> #{line}" }]
  end
  File.write(table, [head, *programs.map { |program| program + [""] }].flatten.join("\n"))
end
