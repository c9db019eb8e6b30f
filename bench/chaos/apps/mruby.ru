# FoolsGold's page on embedded interpreters, with endpoints for bad days.

require_relative "boot"
require_relative "../../../apps/fools-gold/page"

CONTEXT = "fools_gold.context".freeze
PAGE = FoolsGoldPage.new(->(env) { [env[CONTEXT].id, env[CONTEXT].requests.increment] })

def text(words, status = 200)
  [status, { "content-type" => "text/plain" }, [words]]
end

# A body that takes two seconds.
class Ticks
  def each
    20.times do |number|
      sleep 0.1
      yield format("tick %04d\n", number)
    end
    yield "end\n"
  end
end

# Takes more memory than an interpreter has.
def hog
  words = "x" * 1024
  loop { words += words }
end

run lambda { |env|
  case env["PATH_INFO"]
  when "/version" then text(Boot.version)
  when "/fit" then Boot.fit? ? text("fit\n") : text("unfit\n", 500)
  when "/short"
    sleep 0.02
    text("short\n")
  when "/sum" then text("#{(1..2000).reduce(:+)}\n")
  when "/length" then text("#{env["rack.input"].read.bytesize}\n")
  when "/ticks" then [200, { "content-type" => "text/plain" }, Ticks.new]
  when "/spin" then loop { 1 + 1 }
  when "/stuck" then sleep
  when "/hog" then hog
  else PAGE.call(env)
  end
}
