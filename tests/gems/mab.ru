# gems: mab
# ask: / /mixin
require "mab"

run(lambda do |env|
  html =
    if env["PATH_INFO"] == "/mixin"
      Object.new.extend(Mab::Mixin::HTML5).mab { ul.list! { 3.times { |n| li.item(n, title: "<#{n}>") } } }
    else
      Mab::Builder.new({}, nil) { doctype!; html { body.wide { h1 "A & B"; p { text "x"; br; text! "<i>" } } } }.to_s
    end
  [200, {}, [html]]
end)
