# gems: slim temple tilt
# ask: / /logic /attributes
require "slim"

PAGES = {
  "/" => "doctype html\nhtml\n  head\n    title Slim\n  body#top.wide\n    h1 = name\n    p Text & <more>\n    " \
    "== '<raw>'\n",
  "/logic" => "ul\n  - items.each_with_index do |item, at|\n    li class=(at.odd? ? 'odd' : nil) \#{item} " \
    "\#{{item}}\n" \
              "- if items.size > 5\n  p many\n- else\n  p few\n",
  "/attributes" => "a href=\"/x?a=\#{items.first}&b\" data-a={b: 1} checked=true title=nil link\nimg " \
    "src='a.png'/\n/! kept\n| a\n  b\n"
}.transform_values { |text| Slim::Template.new { text } }

View = Struct.new(:name, :items)
run ->(env) { [200, {}, [PAGES.fetch(env["PATH_INFO"]).render(View.new("<Ann>", %w[a b <c>]))]] }
