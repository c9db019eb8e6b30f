# frozen_string_literal: true

# The environment, key by key, for a few of the requests of bench/rack-env, which compares all.

require_relative "../../../bench/rack-env/requests"

module EnvironmentKeys
  CGI = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING REQUEST_URI REQUEST_PATH SERVER_NAME SERVER_PORT
           SERVER_PROTOCOL SERVER_SOFTWARE GATEWAY_INTERFACE REMOTE_ADDR HTTP_HOST HTTP_VERSION HTTP_CONNECTION
           HTTP_X_REQUEST_ID HTTP_X_REQUEST_START].freeze
  RACK = %w[rack.version rack.url_scheme rack.input rack.errors rack.multithread rack.multiprocess rack.run_once
            rack.hijack? rack.hijack rack.after_reply rack.response_finished rack.early_hints rack.logger
            rack.tempfiles].freeze
  BODY = ["CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_TRANSFER_ENCODING", "rack.input", "(body)", "(body, at its end)",
          "(body, again)", "(input has)"].freeze
  BYTES = "embedded: its Strings know no encoding but UTF-8".freeze
  NO_HIJACKING = "embedded: there is no hijacking".freeze
  WHY = {
    "`SERVER_SOFTWARE`" => "its own name",
    "`HTTP_VERSION`" => "as with Rack 2, and on the other servers",
    "`HTTP_X_REQUEST_ID`" => "the id that the log and error pages have",
    "`HTTP_X_REQUEST_START`" => "for those that measure the time in the queue",
    "`rack.version`" => "embedded: Rack 3 has none",
    "`rack.input`" => "its own class, as on each server",
    "`rack.input` with a length" => "embedded: its own class",
    "`rack.input` in chunks" => "its own class, or that of short bodies",
    "`rack.errors`" => "embedded: its own class",
    "`rack.multiprocess`" => "a worker may have been replaced by another at any time",
    "`rack.hijack`" => "its own class; embedded: there is no hijacking",
    "`rack.hijack?`" => NO_HIJACKING,
    "`rack.after_reply`" => "embedded: there is `rack.response_finished`",
    "other keys" => "its own",
    "`REQUEST_METHOD`'s encoding" => "the same String for all requests, so frozen",
    "`PATH_INFO`'s encoding" => BYTES, "`QUERY_STRING`'s encoding" => BYTES, "`REMOTE_ADDR`'s encoding" => BYTES,
    "`HTTP_HOST`'s encoding" => BYTES, "the encoding of a body" => BYTES,
  }.freeze

  def self.envs
    @envs ||= Hash.new { |hash, port| hash[port] = {} }
  end

  # One row for a key; `words` makes a cell of its pair.
  def self.key(name, request, key, words)
    Table.row(name, why: WHY[name]) do |session|
      env = envs[session.port][request] ||= Environment.ask(session.port, REQUESTS.fetch(request))
      next env["(status)"].value if env.key?("(status)")

      env[key] ? words.call(env[key], key) : "none"
    end
  end

  VALUE = lambda do |pair, key|
    next "there" if Environment::PASSING.match?(key) && key.start_with?("HTTP")
    next "a `#{pair.kind}`" if pair.value == '""' && !pair.kind.match?(/open|frozen/)

    Requests.code(pair.value.delete_prefix('"').delete_suffix('"'))
  end
  KIND = ->(pair, _) { pair.kind }

  Table.part "The environment", "What the application finds; `bin/rack-env` compares all of it for a hundred requests."
  Table.section "Keys as CGI has them", "`GET /a/b?c=d` with `Host: a.example`."
  CGI.each { |key| key("`#{key}`", "GET", key, VALUE) }

  Table.section "Rack's keys", "The same request. An object is shown by its class."
  RACK.each { |key| key("`#{key}`", "GET", key, VALUE) }

  Table.section "Other keys", "All others that there are."
  Table.row("other keys", why: WHY["other keys"]) do |session|
    env = Environment.ask(session.port, REQUESTS.fetch("GET"))
    others = env.keys - CGI - RACK - BODY
    others.empty? ? "none" : others.sort.map { |key| "`#{key}`" }.join(" ")
  end

  Table.section "A body", "`POST` with a JSON body of seven bytes, with a length and in chunks."
  { "with a length" => "body", "in chunks" => "chunked" }.each do |title, request|
    BODY.each { |key| key("#{key.start_with?("(") ? key : "`#{key}`"} #{title}", request, key, VALUE) }
  end

  Table.section "Encodings", "Of values that come from the request."
  %w[REQUEST_METHOD PATH_INFO QUERY_STRING REMOTE_ADDR HTTP_HOST].each do |key|
    key("`#{key}`'s encoding", "GET", key, KIND)
  end
  key("the encoding of a body", "body", "(body)", KIND)
end
