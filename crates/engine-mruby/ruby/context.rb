# What belongs to a request: its context with the id, and the counter that all interpreters share.

module FoolsGold
  class Counter
    alias to_i count
  end

  REQUESTS = Counter.new

  # env["fools_gold.context"]: one per request.
  class RequestContext
    # The id of the request, a UUID or a trusted proxy's own; the response's x-request-id says the same.
    attr_reader :id
    alias request_id id

    # The counter that all interpreters share.
    def requests
      REQUESTS
    end
  end
end
