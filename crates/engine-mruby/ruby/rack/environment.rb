# The entries of the Rack environment that are the same for all requests.

module FoolsGold
  # The Hash that c/env.c copies into every environment (Rack SPEC, "The Environment").
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
