# gems: rack-timeout rack
# ask: / /info /slow
require "logger"
require "rack/timeout/base"

Rack::Timeout::Logger.disable if defined?(Rack::Timeout::Logger)
use Rack::Timeout, service_timeout: 20, wait_timeout: false
run(lambda do |env|
  info = env["rack-timeout.info"]
  text = env["PATH_INFO"] == "/info" ? [info.timeout, info.state, info.id.class] : "fine"
  [200, {}, [text.inspect]]
end)
