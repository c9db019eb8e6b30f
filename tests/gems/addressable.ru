# gems: addressable publicsuffix-ruby
# ask: / /template /normalize
require "addressable/uri"
require "addressable/template"

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/template"
      template = Addressable::Template.new("http://x.example/{seg}/{?q,lang*}")
      [template.expand(seg: "a b", q: "é", lang: %w[x y]).to_s, template.extract("http://x.example/z/?q=1"),
        template.variables]
    when "/normalize"
      ["HTTP://Ex%41mple.org:80/a/./b/../c?x=%7e#", "http://münchen.example/ä",
        "mailto:a@b"].map { |text| Addressable::URI.parse(text).normalize.to_s }
    else
      uri = Addressable::URI.parse("http://u:p@host.co.uk:81/p/a?a=1&b[]=2#f")
      uri.query_values = uri.query_values.merge("n" => "a b")
      [uri.to_s, uri.host, uri.port, uri.tld, uri.domain, Addressable::URI.join(uri, "../z").to_s,
        (Addressable::URI.parse("http://:80/x").normalize.to_s rescue $!.message)]
    end
  [200, {}, [found.inspect]]
end)
