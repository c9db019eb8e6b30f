# gems: builder
# ask: / /escaped /rss
require "builder"

run(lambda do |env|
  xml = Builder::XmlMarkup.new(indent: env["PATH_INFO"] == "/" ? 2 : 0)
  case env["PATH_INFO"]
  when "/escaped" then xml.note("a < b & \"c\"", id: 7, kind: nil, title: "<é>")
  when "/rss"
    xml.instruct!
    xml.comment! "news"
    xml.rss(version: "2.0") { xml.channel { 2.times { |n| xml.item { xml.title "No. #{n}"
      xml.cdata! "<b>#{n}</b>" } } } }
  else
    xml.html { xml.body { xml.h1 "Hello"; xml.tag!("svg:rect", width: 3); xml << "<raw/>"; xml.text! "1 > 0" } }
  end
  [200, { "content-type" => "text/xml" }, [xml.target!]]
end)
