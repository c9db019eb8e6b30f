# frozen_string_literal: true

# The last part for files that are Ruby: evaluates one and tells what it has said.

path, kind, names, workers = ARGV
FoolsGold.set_up_bundler
FoolsGold.load_usual
file = FoolsGold::OldFile.new(path, kind, names: names.split(","), workers: workers)
begin
  file._evaluate
rescue Exception => error # `exit` and a syntax error are no more of a configuration than any other.
  failure = error
end
calls = file._said.calls.map do |call|
  { "name" => FoolsGold.utf8(call.name), "line" => call.line, "file" => call.file, "block" => !call.block.nil?,
    "args" => call.args.map { |one| FoolsGold.plain(one) }, "written" => FoolsGold.utf8(call.written) }
end
FoolsGold.tell(calls, failure, path)
