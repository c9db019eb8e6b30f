# gems: liquid
# ask: / /filters /errors
require "liquid"

TEXT = {
  "/" => "Hi {{ user.name | upcase }}{% for n in list limit:2 %} {{ forloop.index }}:{{ n }}{% else %}none{% " \
    "endfor %}" \
         "{% if user.age > 18 and list contains 2 %} adult{% elsif true %} x{% endif %}{%- assign y = 3 | " \
           "times: 2 -%}{{ y }}",
  "/filters" => "{{ 'a-b c' | replace: '-', '+' | capitalize }} {{ 10 | divided_by: 4.0 }} {{ list | join: ',' " \
    "}} {{ 1.25 | round: 1 }} " \
                "{{ '2026-01-02' | date: '%d.%m.%y' }} {{ '<b>' | escape }} {{ list | map: 'x' | size }} {{ " \
                  "'a,b' | split: ',' | last }}",
  "/errors" => "{{ 1 | divided_by: 0 }} {% case 3 %}{% when 1, 3 %}yes{% endcase %}{% capture z %}z{% " \
    "endcapture %}{{ z }} {{ nothing.x }}"
}.freeze

run(lambda do |env|
  text = Liquid::Template.parse(TEXT.fetch(env["PATH_INFO"])).render("user" => { "name" => "ann", "age" => 20 },
    "list" => [1, 2, 3])
  text += (Liquid::Template.parse("{% if %}") rescue "#{$!.class}: #{$!.message}") if env["PATH_INFO"] == "/errors"
  [200, {}, [text]]
end)
