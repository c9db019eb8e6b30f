# gems: rack-attack rack
# ask: / /bad /safe?x=1 /limited /limited /limited
require "rack/attack"

class Memory
  def initialize = @kept = {}
  def read(key) = @kept[key]
  def write(key, value, _ = {}) = @kept[key] = value
  def increment(key, by, _ = {}) = @kept[key] = @kept.fetch(key, 0) + by
  def delete(key, *) = @kept.delete(key)
end

Rack::Attack.cache.store = Memory.new
Rack::Attack.blocklist("bad") { |request| request.path == "/bad" }
Rack::Attack.safelist("safe") { |request| request.path == "/safe" }
Rack::Attack.throttle("limited", limit: 2, period: 3600) { |request| request.path if request.path == "/limited" }
Rack::Attack.throttled_responder = ->(request) { [429, {}, ["slow: #{request.env["rack.attack.matched"]}"]] }

use Rack::Attack
run ->(env) { [200, { "content-type" => "text/plain" }, ["fine #{env["rack.attack.match_type"].inspect}"]] }
