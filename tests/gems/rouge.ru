# gems: rouge
# ask: / /json /guess /theme
require "rouge"

run(lambda do |env|
  text =
    case env["PATH_INFO"]
    when "/json"
      lines = Rouge::Formatters::HTMLLinewise.new(Rouge::Formatters::HTML.new)
      lines.format(Rouge::Lexers::JSON.lex("{\"a\": [1, true]}\n"))
    when "/guess" then [Rouge::Lexer.find("py").name, Rouge::Lexer.guess_by_filename("x.css").tag,
      (Rouge::Lexer.find_fancy("html?a=b").class)].inspect
    when "/theme" then Rouge::Themes::Github.render(scope: ".hl").lines.first(8).join
    else Rouge.highlight("def a(b = 1)\n  puts \"x\#{b}\" # \u00e9\nend\n", "ruby", "html")
    end
  [200, {}, [text]]
end)
