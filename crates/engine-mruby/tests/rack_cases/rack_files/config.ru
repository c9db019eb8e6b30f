# Rack::Files, Rack::Static, Rack::Directory.

require "rack"

PUBLIC = File.expand_path("public", __dir__)
OTHER = ->(env) { [404, { "content-type" => "text/plain" }, ["other #{env['PATH_INFO']}"]] }

map "/files" do
  run Rack::Files.new(PUBLIC, { "cache-control" => "max-age=10" }, "text/x-unknown")
end

map "/static" do
  use Rack::Static, urls: ["/style.css", "/deep"], root: PUBLIC, cascade: true
  run OTHER
end

map "/index" do
  use Rack::Static, urls: [""], root: PUBLIC, index: "index.html", header_rules: [
    [:all, { "x-all" => "1" }], ["/deep", { "x-deep" => "1" }], [%w[css js], { "x-css" => "1" }],
    [/\.txt\z/, { "x-text" => "1" }], [:fonts, { "x-font" => "1" }]
  ]
  run OTHER
end

map "/mapped" do
  use Rack::Static, urls: { "/" => "index.html", "/s" => "style.css" }, root: PUBLIC, gzip: true
  run OTHER
end

map "/gzip" do
  use Rack::Static, urls: ["/style.css"], root: PUBLIC, gzip: true
  run OTHER
end

map "/directory" do
  run Rack::Directory.new(PUBLIC)
end

run OTHER
