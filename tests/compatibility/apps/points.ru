# One path for each thing that a case asks of an application. For every server and for the embedded engine.

TEXT = { "content-type" => "text/plain" }.freeze

run lambda { |env|
  case env["PATH_INFO"]
  when "/large" then [200, TEXT.dup, Array.new(20) { "x" * 1_000_000 }]
  else [200, TEXT.dup, ["fine"]]
  end
}
