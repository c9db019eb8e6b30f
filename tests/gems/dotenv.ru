# gems: dotenv
# ask: / /parse /loaded
require "dotenv"

FILE = File.join(__dir__, "dotenv", "sample.env")
run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/parse" then Dotenv::Parser.call("A=1\nB='x $A'\nC=\"y ${A}\\n\"\nexport D=z # c\nE=\n")
    when "/loaded" then Dotenv.load(FILE)
      [ENV["SAMPLE_NAME"], ENV["SAMPLE_BOTH"], (Dotenv.require_keys("NO_SUCH") rescue [$!.class, $!.message])]
    else [Dotenv.parse(FILE), (Dotenv.load!("none.env") rescue $!.class)]
    end
  [200, {}, [found.inspect]]
end)
