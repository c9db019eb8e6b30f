# gems: pagy/gem
# ask: / /page?page=3 /late /series
require "pagy"

class Pages
  include Pagy::Method if defined?(Pagy::Method)
  def self.of(count, page) = Pagy::Offset.new(count: count, limit: 10, page: page)
end

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/page" then pagy = Pages.of(95, env["QUERY_STRING"][/\d+/])
      [pagy.from, pagy.to, pagy.previous, pagy.next, pagy.last]
    when "/late" then (Pages.of(5, 9).then { |pagy| [pagy.page, pagy.in, pagy.offset] } rescue [$!.class, $!.message])
    when "/series" then Pages.of(1000, 50).send(:series)
    else [Pagy::VERSION, (Pagy::Offset.new(count: -1) rescue [$!.class, $!.message]), Pages.of(0, 1).pages]
    end
  [200, {}, [found.inspect]]
end)
