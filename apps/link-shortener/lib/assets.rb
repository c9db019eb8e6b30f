# Files of one folder below /public/, by name only: what is not in the folder when the application starts is not there.

class Assets
  TYPES = { ".css" => "text/css; charset=utf-8", ".svg" => "image/svg+xml" }.freeze

  def initialize(app, folder)
    @app = app
    @files = Dir.children(folder).map { |name| ["/public/#{name}", [name, File.binread(File.join(folder, name))]] }.to_h
  end

  def call(env)
    name, text = @files[env["PATH_INFO"]]
    return @app.call(env) unless name
    headers = { "content-type" => TYPES.fetch(File.extname(name)), "cache-control" => "max-age=3600" }
    [200, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : [text]]
  end
end
