# The entries of every Rack environment that no request changes.

module FoolsGold
  # What every environment begins as: a copy of this (Rack SPEC, "The Environment").
  ENVIRONMENT = {
    "rack.errors" => $stderr,
    "rack.input" => StringIO.new("".freeze).binmode,
    "rack.multithread" => false,
    "rack.multiprocess" => true,
    "rack.run_once" => false,
    "rack.hijack?" => false,
    "SERVER_SOFTWARE" => "FoolsGold".freeze,
    "GATEWAY_INTERFACE" => "CGI/1.2".freeze
  }
end
