# gems: dry-configurable dry-core zeitwerk
# ask: / /instance /frozen
require "dry-configurable"

class App
  extend Dry::Configurable
  setting :name, default: "app"
  setting(:database) { setting :url, constructor: ->(value) { "db:#{value}" }; setting :pool, default: 5 }
end

class Part
  include Dry::Configurable
  setting :size, default: 1, reader: true
end

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/instance" then [Part.new.size, Part.new.configure { |config| config.size = 4 }.size,
      Part.settings.map(&:name)]
    when "/frozen"
      app = Class.new(App)
      app.config.name = "y"
      app.finalize!
      [app.config.name, (app.config.nope rescue $!.class),
        (app.configure { |config| config.name = "x" } rescue $!.class)]
    else
      app = Class.new(App).configure { |config| config.database.url = "x"; config.name = "other" }
      [app.config.to_h, App.config.name, app.config.database.pool, app.settings.map(&:name)]
    end
  [200, {}, [found.inspect]]
end)
