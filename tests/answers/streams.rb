# Bodies that answer call and not each (Rack 3: streaming bodies).

def stream(notes, **more, &work)
  Made.new(notes, call: work, **more)
end

Book.row("call", 200, "stream") do |notes|
  [200, {}, stream(notes) { |s| s.write("st"); s << "re" << "am"; s.flush; s.close }]
end
Book.row("call-lambda", 200, "stream") { [200, {}, ->(s) { s.write("stream"); s.close }] }
Book.row("call-close", 200, "a", seen: "call close") do |notes|
  [200, {}, stream(notes, close: nil) { |s| s.write("a"); s.close }]
end
Book.row("call-open", 200, "open") { [200, {}, ->(s) { s.write("open") }] }
Book.row("call-nothing", 200, "") { [200, {}, ->(s) { s.close }] }
Book.row("call-length", 200, "abc", length: "3") do
  [200, { "content-length" => "3" }, ->(s) { s.write("abc"); s.close }]
end
Book.row("call-many", 200, "abc4") do
  [200, {}, ->(s) { s.write("#{s.write("a", "bc") + 1}"); s.close }]
end
Book.row("call-values", 200, "1b") { [200, {}, ->(s) { s.write(1); s.write(nil); s.write(:b); s.close }] }
Book.row("call-read", 200, "\"\"") { [200, {}, ->(s) { s.write(s.read.to_s.inspect); s.close }] }
Book.row("call-closed", 200, "[false, true]") do
  seen = []
  [200, {}, lambda do |s|
    seen << s.closed?
    s.close_read
    s.write("[false, true]")
    s.close
    seen << s.closed?
  end]
end
Book.row("call-head", 200, "", method: "HEAD", length: nil, seen: "close") do |notes|
  [200, {}, stream(notes, close: nil) { |s| s.write("a"); s.close }]
end
Book.row("call-204", 204, "", length: nil, seen: "close") do |notes|
  [204, {}, stream(notes, close: nil) { |s| s.write("a"); s.close }]
end
Book.row("call-raises-first", 500, fails: true, seen: "call close") do |notes|
  [200, {}, stream(notes, close: nil) { |_| raise "on purpose" }]
end
Book.row("call-raises-late", 200, nil, cut: true, seen: "call close") do |notes|
  [200, {}, stream(notes, close: nil) { |s| s.write(LARGE); s.flush; raise "on purpose" }]
end
Book.row("call-huge", 200, "g" * 3_000_000) { [200, {}, ->(s) { 3.times { s.write("g" * 1_000_000) }; s.close }] }
Book.row("call-threads", 200, ("a" * 20_000) + ("b" * 20_000), needs: :cruby) do
  work = lambda do |s|
    %w[a b].map { |text| Thread.new { 200.times { s.write(text * 100) } } }.each(&:join)
    s.close
  end
  [200, { "x-sorted" => "yes" }, work]
end
Book.row("call-thread", 200, "later", needs: :cruby) do
  [200, {}, ->(s) { Thread.new { sleep 0.05; s.write("later"); s.close } }]
end
Book.row("call-kept", 200, "a") { [200, {}, ->(s) { (KEPT[:stream] = s).write("a"); s.close }] }
used_later("call-used-later", :stream) { |stream| stream.write("not mine") }
Book.row("call-open-kept", 200, "a") { [200, {}, ->(s) { (KEPT[:open] = s).write("a") }] }
used_later("call-open-used-later", :open) { |stream| stream.write("not mine") }
