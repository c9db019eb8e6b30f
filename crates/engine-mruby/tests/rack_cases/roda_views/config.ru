# Roda's plugins for pages: templates with ERB, partials, assets, files.

require "roda"

APPS = {}
VIEWS = File.expand_path("views", __dir__)
RENDER = [:render, { views: VIEWS, escape: true, check_template_mtime: false }].freeze

# A plugin that does not load says so in its own answers alone.
def pages(path, *plugins, &block)
  made = Class.new(Roda) do
    plugins.each { |name, *args| plugin(name, *args) }
    class_exec(&block)
  end
  APPS[path] = made.freeze.app
rescue StandardError, ScriptError => error
  APPS[path] = ->(_) { [500, {}, ["does not load: #{error.class} #{error.message}"]] }
end

pages("/render", RENDER) do
  route do |r|
    @title = "A <title>"
    r.get("view") { view("page", locals: { name: "you & me" }) }
    r.get("render") { render("page", locals: { name: "bare" }) }
    r.get("inline") { render(inline: "<%= 1 + 1 %> <%== '<b>' %>") }
    r.get("layout") { view("page", locals: { name: "x" }, layout: "other") }
    r.get("none") { view("page", locals: { name: "x" }, layout: false) }
    r.get("content") { view(content: "given <b>content</b>") }
    r.get("sub") { view("sub/deep") }
    r.get("missing") { (view("missing") rescue $!.class.name) }
    r.get("loop") { render("loop", locals: { items: %w[a <b> c] }) }
  end
end

pages("/escape", [:render, { views: VIEWS, layout: "plain_layout" }]) do
  plugin :h
  route { |_| view("plain", locals: { text: "<i>" }) }
end

pages("/partials", RENDER, :partials) do
  route do |r|
    r.get("one") { partial("item", locals: { item: "i" }) }
    r.get("each") { render_each(%w[a b], "entry") }
    each_partial(%w[c d], "item")
  end
end

pages("/render_each", RENDER, :render_each) do
  route do |r|
    r.get("as") { render_each([1, 2], "row", local: :number) }
    r.get("block") { out = +""; render_each([1, 2], "entry") { |s| out << s.strip }; out }
    render_each(%w[x y], "entry")
  end
end

pages("/view_options", RENDER, :view_options) do
  route do |r|
    r.on("sub") { set_view_subdir("sub"); r.get { view("deep") } }
    r.on("layout") { set_layout_options(template: "other"); view("page", locals: { name: "opt" }) }
    append_view_subdir("sub")
    view("deep")
  end
end

pages("/content_for", RENDER, :content_for) do
  route { |_| content_for(:side, "given side"); view("with_side", layout: "side_layout") }
end
pages("/content_append", RENDER, [:content_for, { append: true }]) do
  route { |_| content_for(:side) { "block side" }; view("with_side", layout: "side_layout") }
end
pages("/capture", RENDER, :capture_erb, :inject_erb) do
  def boxed(&block) = inject_erb("[#{capture_erb(&block).strip}]")
  route { |_| render("capture") }
end
pages("/named", RENDER, :named_templates) do
  template(:greeting) { "hello <%= @who %>" }
  template(:layout, engine: :erb) { "<main><%== yield %></main>" }
  route { |r| @who = "named"; r.get("view") { view(:greeting) }; render(:greeting) }
end
pages("/symbol", RENDER, :symbol_views) { route { |r| @title = "s"; :symbol_page } }
pages("/multi_view", RENDER, :multi_view) do
  route { |r| r.multi_view(%w[about terms]); r.get("re") { "re" }; "none" }
end
pages("/locals", RENDER, [:render_locals, { render: { name: "default" }, layout: { side: "l" }, merge: true }]) do
  route { |r| r.get("own") { render("page", locals: { name: "own" }) }; render("page") }
end
pages("/branch_locals", RENDER, :branch_locals) do
  route do |r|
    set_view_locals(name: "branch")
    set_layout_locals(side: "b")
    r.get("over") { view("page", locals: { name: "over" }) }
    view("page")
  end
end
pages("/precompiled", RENDER, :precompile_templates) do
  precompile_views(%w[page], [:name])
  route { |_| view("page", locals: { name: "pre" }) }
end
pages("/padrino", RENDER, :padrino_render) do
  route { |r| r.get("partial") { partial("item", locals: { item: 1 }) }; render("page", locals: { name: "padrino" }) }
end
pages("/engines", RENDER, [:additional_render_engines, ["str"]]) { route { |_| render("text") } }
pages("/directories", [:render, { views: "#{VIEWS}/sub", escape: true }], [:additional_view_directories, [VIEWS]]) do
  route { |_| render("row", locals: { number: 3 }) }
end
pages("/subdir", RENDER, :hash_branch_view_subdir) do
  hash_branch("sub") { |_| view("deep") }
  route { |r| r.hash_branches; "no" }
end
pages("/leading", RENDER, :view_options, :view_subdir_leading_slash) do
  route { |_| set_view_subdir("sub"); view("/page", locals: { name: "lead" }) }
end
pages("/part", RENDER, :part) { route { |_| part("page", name: "part") } }
pages("/each_part", RENDER, :each_part) { route { |_| each_part(%w[p q], "entry") } }
pages("/exception_page", :exception_page) do
  plugin(:error_handler) do |error|
    exception_page(error)[/<h1>.*?<\/h1>/m].to_s.squeeze(" ") + exception_page(error, json: true).keys.inspect
  end
  route { |_| raise ArgumentError, "shown" }
end

pages("/chunked", RENDER, :chunked) do
  route do |r|
    r.get("each") { chunked("page", locals: { name: "chunked" }) }
    chunked("page", locals: { name: "in parts" }) { @title = "late" }
  end
end
pages("/hash_cache", [:hash_public, { root: File.expand_path("public", __dir__), length: 8 }],
    [:hash_public_cache, File.expand_path("hashes.json", __dir__)]) do
  scan_hash_public_cache_dir
  route { |_| "#{hash_path('file.txt')} #{opts[:hash_public_cache].class}" }
end
PUBLIC = { root: File.expand_path("public", __dir__), headers: { "x-public" => "1" }, gzip: true }.freeze
pages("/public", [:public, PUBLIC]) do
  route { |r| r.public; "not a file" }
end
pages("/static", [:static, ["/deep"], { root: File.expand_path("public", __dir__) }]) { route { |_| "not static" } }
pages("/multi_public",
    [:multi_public,
        { a: File.expand_path("public", __dir__),
            b: [File.expand_path("public/deep", __dir__), { "x-b" => "1" }, "x/y"] }]) do
  route { |r| r.on("a") { r.multi_public(:a); "a none" }; r.on("b") { r.multi_public(:b); "b none" } }
end
pages("/send_file", :send_file) do
  route do |r|
    send_file(File.expand_path("public/file.txt", __dir__), filename: r.params["name"],
        disposition: r.params["name"] ? "attachment" : nil)
  end
end
pages("/timestamp", [:timestamp_public, { root: File.expand_path("public", __dir__) }]) do
  route { |r| r.timestamp_public; timestamp_path("file.txt") }
end
pages("/hash_public", [:hash_public, { root: File.expand_path("public", __dir__), length: 8 }]) do
  route { |r| r.hash_public; hash_path("file.txt") }
end
pages("/assets",
    [:assets,
        { css: ["app.css"], js: { head: ["app.js"] }, path: File.expand_path("assets", __dir__), css_opts: {},
            timestamp_paths: false }]) do
  plugin :assets_preloading
  route do |r|
    r.assets
    [assets(:css), assets([:js, :head], "data-x" => "1"), assets_paths(:css).inspect, preload_assets_link_header(:css),
        preload_assets_link_tags(:css)].join("\n")
  end
end

run lambda { |env|
  name = env["PATH_INFO"].split("/", 3)[1]
  env["PATH_INFO"] = env["PATH_INFO"].delete_prefix("/#{name}")
  APPS.fetch("/#{name}").call(env)
}
