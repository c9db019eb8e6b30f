# frozen_string_literal: true

# The pairs of every Rack environment that do not come from the front.

module FoolsGold
  # The pairs are of two kinds: constants of the process, and those that belong to one slot or one request.
  class Environment
    # Code of what differs between requests, by its key in the environment. Its variables are those of shapes.rb.
    VARIABLES = {
      "rack.input" => "input",
      "rack.errors" => "errors",
      "rack.hijack" => "Hijack.new(slot, slot.seq)",
      "rack.early_hints" => "Hints.new(slot, slot.seq)",
      "rack.after_reply" => "after",
      "rack.response_finished" => "finished"
    }.freeze

    # Ruby code for each constant.
    attr_reader :constants

    def initialize(setup)
      @variables = VARIABLES.reject { |key, _| key == "rack.early_hints" && setup["early_hints"] != "yes" }
      @constants = {
        "rack.version" => "VERSION",
        "rack.multithread" => setup.values_at("threads", "max_threads").any? { |number| number.to_i > 1 }.to_s,
        "rack.multiprocess" => (setup["single"] != "yes").to_s,
        "rack.run_once" => "false",
        "rack.hijack?" => "true",
        "SERVER_SOFTWARE" => setup["software"].b.dump,
        "GATEWAY_INTERFACE" => '"CGI/1.2"',
        "puma.mark_as_io_bound" => "IO_BOUND"
      }
    end

    # All pairs, as the inside of a Hash literal.
    def code
      @code ||= @variables.merge(@constants).map { |key, code| "#{key.dump} => #{code}" }.join(", ")
    end
  end
end
