# frozen_string_literal: true

# Tells what an application gets: its environment, and the body of the request in every way to read it.

require_relative "common"
require "digest"

def input(env)
  yield env["rack.input"]
end

use Linted
run paths(
  "/env" => lambda do |env|
    pairs = env.sort.map do |key, value|
      shown = case value
              when String, Numeric, true, false, nil then value.to_s
              when Array then value.inspect
              else value.class.name.to_s.empty? ? "?" : "object"
              end
      "#{key}=#{shown}\n"
    end
    text(pairs.join)
  end,
  "/encodings" => lambda do |env|
    headers = env.select { |key, _| key.start_with?("HTTP_") }
    odd = headers.reject { |_, value| value.encoding == Encoding::BINARY }
    text([odd.keys, env["rack.input"].read.encoding == Encoding::BINARY].inspect)
  end,
  "/read" => ->(env) { input(env) { |io| text(Digest::SHA256.hexdigest(io.read)) } },
  "/length" => ->(env) { input(env) { |io| text(io.read.bytesize) } },
  "/parts" => ->(env) { input(env) { |io| a = []; while (p = io.read(4)); a << p; end; text(a.join("|")) } },
  "/buffer" => ->(env) { input(env) { |io| b = +"old"; io.read(3, b); text(b) } },
  "/gets" => ->(env) { input(env) { |io| a = []; while (l = io.gets); a << l.size; end; text(a.join(",")) } },
  "/each" => ->(env) { input(env) { |io| a = []; io.each { |l| a << l.size }; text(a.join(",")) } },
  "/end" => ->(env) { input(env) { |io| io.read; text([io.read, io.read(1), io.gets].inspect) } },
  "/again" => lambda do |env|
    # Rack 3 does not ask for rewind, and its Lint passes it on where it is there.
    input(env) { |io| first = io.read; io.rewind; text(first == io.read && first.bytesize) }
  end,
  "/unread" => ->(_env) { text("unread") },
  "/count" => lambda do |env|
    input(env) { |io| size = 0; buffer = +""; size += buffer.bytesize while io.read(65_536, buffer); text(size) }
  end,
  "/form" => lambda do |env|
    form = Rack::Request.new(env).POST
    text(form.map { |key, value| "#{key}=#{value.is_a?(Hash) ? value[:tempfile].read.bytesize : value}" }.join("&"))
  end
)
