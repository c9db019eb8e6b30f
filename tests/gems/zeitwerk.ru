# gems: zeitwerk
# ask: / /deep /eager
require "zeitwerk"

ROOT = File.join(__dir__, "zeitwerk")
LOADER = Zeitwerk::Loader.new
LOADER.push_dir(ROOT)
LOADER.inflector.inflect("html_page" => "HTMLPage")
LOADER.setup

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/deep" then [Shop::Cart.new.total, Shop::Cart::Line.name, Shop.autoload?(:Never)]
    when "/eager" then LOADER.eager_load; [HTMLPage.title, Shop.constants.sort, (Shop::Gone rescue $!.class)]
    else [defined?(Shop), Shop.name, Shop.greeting]
    end
  [200, {}, [found.inspect]]
end)
