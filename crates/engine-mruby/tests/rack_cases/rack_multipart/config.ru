# Multipart bodies: fields, files, nested names, and bodies that are not right.

require "rack"

def shown(value)
  case value
  when Hash
    return shown_file(value) if value[:tempfile]
    "{#{value.map { |key, one| "#{key.inspect} => #{shown(one)}" }.join(', ')}}"
  when Array then "[#{value.map { |one| shown(one) }.join(', ')}]"
  else value.inspect
  end
end

def shown_file(file)
  content = file[:tempfile].read
  content = content.bytes unless content.force_encoding("UTF-8").valid_encoding?
  "file(#{[file[:name], file[:filename], file[:type], content, content.size].map(&:inspect).join(', ')})"
end

PARTS = {
  "/params" => lambda do |request|
    ["POST: #{shown(request.POST)}\n", "GET: #{shown(request.GET)}\n", "params: #{request.params.keys.inspect}\n"]
  end,
  "/head" => ->(request) { [request.POST["file"][:head].inspect] },
  "/tempfiles" => lambda do |request|
    files = request.POST.values.map { |one| one[:tempfile] }
    [files.map { |file| [file.class.name, file.size, File.file?(file.path), file.rewind, file.gets] }.inspect,
     request.env["rack.tempfiles"].size.to_s]
  end,
  "/built" => lambda do |_|
    data = Rack::Multipart.build_multipart("a" => "1", "b" => { "c" => ["2", "3"] })
    ["#{data.inspect}\n", Rack::Multipart.build_multipart({ "a" => "1" }, false).inspect]
  end
}.freeze

run lambda { |env|
  request = Rack::Request.new(env)
  said = begin
    PARTS.fetch(request.path_info).call(request)
  rescue EOFError, Rack::BadRequest, Rack::Multipart::MultipartPartLimitError => error
    ["#{error.class}: #{error.message}"]
  end
  [200, { "content-type" => "text/plain" }, said]
}
