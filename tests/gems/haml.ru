# gems: haml temple thor tilt
# ask: / /logic /attributes
require "haml"

PAGES = {
  "/" => "!!!\n%html\n  %body#top.wide\n    %h1= name\n    %p Text & <more> \#{name}\n    != '<raw>'\n",
  "/logic" => "%ul\n  - items.each_with_index do |item, at|\n    %li{ class: at.odd? ? 'odd' : nil }= item\n- " \
    "if items.size > 5\n  %p many\n- else\n  %p few\n",
  "/attributes" => "%a{ href: '/x?a=1&b', data: { a: 1, b_c: true }, checked: true, title: nil } link\n" \
    "%img(src='a.png')/\n/ kept\n:plain\n  a\n"
}.transform_values { |text| Haml::Template.new { text } }

View = Struct.new(:name, :items)
run ->(env) { [200, {}, [PAGES.fetch(env["PATH_INFO"]).render(View.new("<Ann>", %w[a b <c>]))]] }
