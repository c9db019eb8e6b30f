# gems: tilt erubi
# ask: / /layout /erubi /error
require "tilt"
require "tilt/erubi"
require "tilt/string"

View = Struct.new(:name)
PLAIN = Tilt::StringTemplate.new { 'Hello #{name} #{more}' }
LAYOUT = Tilt::ErubiTemplate.new { "<main><%= yield %></main>\n<% 2.times do |n| %><%== n %><% end %>" }

run(lambda do |env|
  text =
    case env["PATH_INFO"]
    when "/layout" then LAYOUT.render(View.new("a")) { PLAIN.render(View.new("b"), more: "<x>") }
    when "/erubi" then eval(Erubi::Engine.new("<%= 1 %>|<%== '<' %>|<%- 3 -%>\n|<%% %>\n", escape: false,
      trim: true).src)
    when "/error" then (Tilt.new("x.nothing") rescue "#{$!.class}: #{$!.message}")
    else [PLAIN.render(View.new("Ann"), more: 3), Tilt.registered?("erb"), Tilt.templates_for("a.html.erb")].inspect
    end
  [200, {}, [text]]
end)
