# gems: thor
# ask: / /hello /help /wrong
$PROGRAM_NAME = "tool"
require "thor"

class Tool < Thor
  def self.exit_on_failure? = false
  desc "hello NAME", "says hello"
  method_option :loud, type: :boolean, aliases: "-l", desc: "louder"
  method_option :times, type: :numeric, default: 1
  def hello(name) = say("Hello #{name}#{"!" if options[:loud]} " * options[:times])

  desc "list [WORDS]", "tells its arguments"
  def list(*words) = say(words.inspect)
end

run(lambda do |env|
  before, $stdout = $stdout, StringIO.new
  said, $stderr = $stderr, $stdout
  args = { "/hello" => %w[hello Ann -l --times 2], "/help" => %w[help hello], "/wrong" => %w[hallo] }
  Tool.start(args.fetch(env["PATH_INFO"], %w[list a b]), shell: Thor::Shell::Basic.new)
  [200, {}, [$stdout.string]]
ensure
  $stdout, $stderr = before, said
end)
