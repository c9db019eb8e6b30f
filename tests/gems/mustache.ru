# gems: mustache
# ask: / /class /error
require "mustache"

class Winner < Mustache
  self.template = "Hi {{name}}{{#won}}, you won {{value}}{{{raw}}}{{/won}}{{^won}}!{{/won}}{{! none }}"
  attr_accessor :won
  def name = "<Chris>"
  def value = 10_000
  def raw = "<b>&</b>"
end

run(lambda do |env|
  text =
    case env["PATH_INFO"]
    when "/class" then [true, false].map { |won| Winner.new.tap { |view| view.won = won }.render }.join("\n")
    when "/error" then (Mustache.render("{{#open}} {{/other}}") rescue "#{$!.class}\n#{$!.message}")
    else
      Mustache.render("{{#list}}- {{a.b}} {{.}}\n{{/list}}{{=<% %>=}}<% wrap %> <%& html %>",
                      list: [{ a: { b: 1 } }, { a: { b: nil } }], wrap: "a&b", html: "<i>")
    end
  [200, {}, [text]]
end)
