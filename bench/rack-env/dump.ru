# Returns its environment: a line for each pair, with the value's class, encoding, whether it is frozen, and its bytes
# in hexadecimal. For every server and for the embedded engine, so in plain Ruby.

def hex(text) = text.unpack("H*").first.to_s

def line(key, value)
  kind = value.class.to_s
  encoding = value.is_a?(String) ? value.encoding.to_s : "-"
  shown = value.is_a?(String) || value.nil? || value == true || value == false || value.is_a?(Array) ? value.to_s : ""
  [hex(key.to_s), key.class.to_s, kind, encoding, value.frozen? ? "frozen" : "open", hex(shown)].join("\t")
end

def body(env)
  input = env["rack.input"]
  return [] unless input

  text = input.read
  lines = [line("(body)", text), line("(body, at its end)", input.read(1))]
  if input.respond_to?(:rewind)
    input.rewind
    lines << line("(body, again)", input.read)
  end
  can = %w[read gets each rewind close size].select { |name| input.respond_to?(name) }
  lines << line("(input has)", can.join(" "))
end

run lambda { |env|
  lines = env.map { |key, value| line(key, value) } + body(env)
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
