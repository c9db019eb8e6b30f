# frozen_string_literal: true

# Answers of every kind but the usual one, a string in an array (see slot.rb).

module FoolsGold
  # Sends the answers of one slot, one after the other.
  class Answer
    include Delivery

    # The body of an answer that has only a status and headers.
    MISSING = Object.new.freeze

    def initialize(slot)
      @slot = slot
      @body = nil
      @begun = nil
      @ended = nil
      @left = nil
      @upgrade = nil
      @client_method = nil
    end

    # Sets the method of the current request as the client has sent it: by it the answer has a body or none (RFC 9110
    # section 9.3.2). A middleware may put another method into the environment (Rack::MethodOverride, caches).
    attr_writer :client_method

    # The partial hijack of the current answer, until it is taken.
    attr_reader :upgrade

    # Returns the partial hijack of the current answer, once.
    def take_upgrade
      @upgrade.tap { @upgrade = nil }
    end

    # Whether the head of the current answer has been sent and its end has not.
    def begun?
      @begun == @slot.seq && !ended?
    end

    # Whether the current answer is complete, even if it is no longer in the slot's buffer.
    def ended?
      @ended == @slot.seq
    end

    # Whether the stream of the current answer has been left to other threads.
    def left?
      @left == @slot.seq
    end

    # Sends an answer. With `later`, the slot has more to do after it, and sends FREE then. So it does for a body that
    # responds to `close`, which is called after the answer has been sent: the client does not wait for it.
    def give(status, headers, body, later = false)
      @later = @has_more = later
      @body = body
      return taken if @slot.taken

      status = status(status)
      headers = Headers.new(headers)
      return if (status >= 200 || status == 101) && upgrade?(status, headers, body)
      raise BadAnswer, "the status #{status} cannot end a request" if status < 200

      @later ||= body.respond_to?(:close)
      deliver(status, headers, body)
    ensure
      close unless later?
    end

    # Whether the front waits for FREE.
    def later?
      @later && ended?
    end

    # Ends the answer of a request whose connection the application has taken: nothing is sent to the client.
    def taken(later = @later)
      @later = later
      @slot.take(nil, nil)
      head(0, nil, Frames::TAKEN)
    end

    # Closes the body, once, whatever happened before.
    def close
      body = @body
      @body = nil
      close_body(body)
    end

    private

    def status(status)
      number = status.respond_to?(:to_i) ? status.to_i : 0
      return number if number >= 100 && number <= 999 # All that a status line has room for.

      raise BadAnswer, "the status must be an Integer from 100 to 999, not #{status.inspect[0, 80]}; " \
                       "an application returns [status, headers, body]"
    end

    # Sends the answer before a partial hijack, if this is one. Rack's SPEC: a body beside `rack.hijack` is ignored.
    # Where HTTP allows no body, there is nothing to take over. The connection is opened first: where this process may
    # have no more files, the request fails, and no client waits for what never comes.
    def upgrade?(status, headers, body)
      callable = headers.hijack || (body if status == 101 && body.respond_to?(:call))
      return if callable.nil? || !callable.respond_to?(:call) || head? || WITHOUT_CONTENT.include?(status)

      io = @slot.open_connection(Frames::PARTIAL_ROLE, @slot.seq)
      @later = false # What there is to do after the answer is done by the thread of the upgraded connection.
      begin
        head(status, headers, Frames::UPGRADE)
        @slot.flush
        is_sent = true
      ensure
        io.close unless is_sent # Also if the thread is ended.
      end
      @body = nil
      @upgrade = Upgrade.new(@slot, io, callable) { close_body(body) }
      true
    end

    # Sends a head, then the body in chunks, then its end, unless the block has left that to other threads. What the
    # application writes after the end is dropped. For HEAD, sends the head alone.
    def more(status, headers, &block)
      return head(status, headers, Frames::UNASKED) if head?

      send_head(status, headers, Frames::MORE)
      finish_more(&block)
    end

    # Sends a head at once; with Frames::FILE, `body` is the path of the file.
    def send_head(status, headers, flags, body = "")
      Thread.handle_interrupt(RequestTimeout => :never) do
        head(status, headers, flags, body)
        @slot.flush
      end
    end

    def finish_more
      out = Stream.new(@slot, @slot.input)
      begin
        yield out
        has_returned = true
      ensure
        out.finish unless ended?
        @slot.forget_loan unless has_returned
      end
      return if ended?

      @slot.settle
      raise IOError, Stream::TORN if @slot.torn?

      end_more(Frames::END_OF_BODY)
    end

    # Ends what the slot sends of the answer.
    def end_more(kind)
      @slot.check_process
      Thread.handle_interrupt(RequestTimeout => :never) do
        add(kind, @later ? "\x01" : "", ends: true)
        @slot.flush
      end
    end

    # Sends a complete answer: in one frame, unless large headers leave no room in it for the body.
    def complete(status, headers, content)
      return head(status, headers, 0, content) if content.empty? || headers.block.bytesize <= Channel::WHOLE

      headers.announce(content.bytesize)
      more(status, headers) { |out| out.write(content) }
    end

    def head(status, headers, flags, body = "")
      block = headers ? headers.block : ""
      raise BadAnswer, "headers are more than 4096 lines or 1048576 bytes" if headers&.too_many?

      flags |= Frames::LATER if @later && flags != Frames::MORE
      numbers = [@slot.seq, status, flags, headers ? headers.pairs : 0, block.bytesize]
      add(Frames::ANSWER, [*numbers, block, body].pack("NnCnNa*a*"), ends: flags != Frames::MORE)
    end

    # Adds a frame that begins or ends the answer, and notes which. An exception of another thread between the two steps
    # would be sent as a second answer, or behind the end.
    def add(kind, payload, ends:)
      Thread.handle_interrupt(Channel::WHOLLY) do
        @slot.add(kind, payload)
        ends ? @ended = @slot.seq : @begun = @slot.seq
      end
    end

    # Closes a body; also after an upgraded connection, when another thread has the slot. An exception here is too late
    # for an answer, so it is logged, also `exit`.
    def close_body(body)
      body.close if body.respond_to?(:close)
    rescue RequestTimeout
      raise
    rescue Exception => error
      raise unless @slot.own_process? # In a child that the application has forked.

      Log.exception(error, "the body of an answer could not be closed")
    end
  end
end
