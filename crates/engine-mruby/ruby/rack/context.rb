# The context of a request with its id, and the counter of requests that all interpreters share.

module FoolsGold
  class Counter
    alias to_i count
  end

  REQUESTS = Counter.new

  # The object in env["fools_gold.context"], one for each request.
  class RequestContext
    # The id of the request: a UUID, or the one that a trusted proxy has sent. Also in the response header x-request-id.
    attr_reader :id
    alias request_id id

    # The counter of requests that all interpreters share.
    def requests
      REQUESTS
    end
  end
end
