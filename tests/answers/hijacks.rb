# Connections that the application takes over.

def hijacked(headers = {})
  { "x-a" => "1", "rack.hijack" => ->(io) { io.write("raw"); io.close } }.merge(headers)
end

Book.row("hijack", 200, "raw", headers: { "x-a" => ["1"], "rack.hijack" => [] }, needs: :hijack) { [200, hijacked, []] }
Book.row("hijack-nil", 200, "raw", needs: :hijack) { [200, hijacked, nil] }
Book.row("hijack-body", 200, "raw", seen: "close", needs: :hijack) do |notes|
  [200, hijacked, Made.new(notes, ["wrong"], to_ary: ["wrong"], to_path: PAGE, close: nil)]
end
Book.row("hijack-thread", 200, "raw", needs: :hijack) do
  [200, { "rack.hijack" => ->(io) { Thread.new { sleep 0.05; io.write("raw"); io.close } } }, []]
end
Book.row("hijack-head", 200, "", method: "HEAD", seen: "close", needs: :hijack) do |notes|
  [200, hijacked, Made.new(notes, [], close: nil)]
end
Book.row("hijack-nothing", 200, "x", length: "1", needs: :hijack) { [200, { "rack.hijack" => nil }, ["x"]] }
Book.row("hijack-full", 299, "raw", needs: :hijack) do |_, env|
  env["rack.hijack"].call
  io = env["rack.hijack_io"] || env["rack.hijack"].call
  io.write("HTTP/1.1 299 Mine\r\nconnection: close\r\n\r\nraw")
  io.close
  [200, {}, []]
end
Book.row("hijack-full-body", 299, "raw", seen: "close", needs: :hijack) do |notes, env|
  io = env["rack.hijack"].call
  io.write("HTTP/1.1 299 Mine\r\nconnection: close\r\n\r\nraw")
  io.close
  [500, {}, Made.new(notes, ["wrong"], close: nil)]
end

# Waits for another request of the same process; for a moment only, as a server may have no thread for it.
def await(name)
  100.times { KEPT[name] ? break : sleep(0.01) }
end

# The application is done with a connection while the thread that had it gives another answer: both bodies are closed.
Book.row("hijack-closed-late", 200, "raw", needs: :hijack) do |notes|
  KEPT.delete(:other_runs)
  KEPT.delete(:other_closed)
  late = lambda do |io|
    io.write("raw")
    io.close
    await(:other_runs)
  end
  [200, { "rack.hijack" => late }, Made.new(notes, [], close: -> { KEPT[:other_closed] = true })]
end
Book.row("hijack-closed-meanwhile", 200, "x", seen: "each close", needs: :hijack) do |notes|
  body = Made.new(notes, close: nil) do |out|
    KEPT[:other_runs] = true
    await(:other_closed)
    out.call("x")
  end
  [200, {}, body]
end
