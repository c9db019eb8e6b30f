# gems: mustermann/mustermann mustermann/mustermann-contrib hansi
# ask: / /expand /kinds
require "mustermann"

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/expand"
      pattern = Mustermann.new("/:user(/posts/:id)?.:ext?", capture: { id: :digit })
      [pattern.expand(user: "a b"), pattern.expand(user: "x", id: 3), pattern.to_templates, pattern.names]
    when "/kinds"
      %w[rails express uri_template flask shell simple identity regular].map do |type|
        form = { "uri_template" => "/{a}/{b}", "flask" => "/<a>/<int:b>", "shell" => "/*/*", "identity" => "/1/2",
                 "regular" => '/(?<a>\d)/(?<b>.+)' }.fetch(type, "/:a/:b")
        pattern = Mustermann.new(form, type: type)
        [type, pattern.match("/1/2") ? true : false, (pattern.params("/1/2") rescue $!.class)]
      end
    else
      pattern = Mustermann.new("/*/:name.?:format?")
      [pattern.params("/a/b/c.html"), pattern === "/a", pattern.peek_size("/a/b!"),
        (Mustermann.new("/(") rescue $!.message)]
    end
  [200, {}, [found.inspect]]
end)
