# Every kind of answer an application can give, a path each, for any Rack server. `bin/answers` asks for all of them and
# compares what comes with what the tables say.

require_relative "book"

run(lambda do |env|
  path = env["PATH_INFO"]
  run = env["QUERY_STRING"]
  case path
  when "/ping" then [200, { "content-type" => "text/plain" }, ["pong"]]
  when "/names" then [200, { "content-type" => "text/plain" }, [Book.here(env).join("\n")]]
  when "/seen" then [200, { "content-type" => "text/plain" }, [Notes.read(run)]]
  else
    row = Book.find(path[1..-1])
    row ? row.answer(env, Notes::Of.new(run)) : [404, { "content-type" => "text/plain" }, ["no row for #{path}"]]
  end
end)
