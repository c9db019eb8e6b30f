# frozen_string_literal: true

# Answers of every kind but the usual, which is a string in an array (see slot.rb).

module FoolsGold
  # One for each slot; gives one answer after the other.
  class Answer
    # A body that says it is not longer than this is gathered and sent in one piece.
    GATHERED = 65_536

    def initialize(slot)
      @slot = slot
      @begun = nil
      @ended = nil
    end

    # Whether the head of the current answer has been sent and its end has not.
    def begun?
      @begun == @slot.seq && !ended?
    end

    # Whether the current answer is complete; also one that has left the slot's buffer.
    def ended?
      @ended == @slot.seq
    end

    # `later`: the slot has more to do when this is sent, and says FREE then.
    def give(status, headers, body, later = false)
      @later = later
      upgraded = false
      return taken if @slot.taken

      status = status(status)
      headers = Headers.new(headers)
      raise BadAnswer, "the body must respond to each or call, but it is nil" if body.nil?

      upgraded = upgrade(status, headers, body) || deliver(status, headers, body)
    ensure
      close(body) unless upgraded == :upgraded
    end

    # Whether the front waits for FREE.
    def later?
      @later && ended?
    end

    # The client's connection is the application's: nothing is to be sent.
    def taken(later = @later)
      @later = later
      @slot.taken = nil
      head(0, nil, Frames::TAKEN)
    end

    private

    def status(status)
      number = status.respond_to?(:to_i) ? status.to_i : 0
      return number if number.between?(100, 599) # All that RFC 9110 section 15 allows.

      raise BadAnswer, "the status must be an Integer from 100 to 599, not #{status.inspect[0, 80]}; " \
                       "an application returns [status, headers, body]"
    end

    def upgrade(status, headers, body)
      callable = headers.hijack || (body if status == 101 && body.respond_to?(:call))
      return unless callable.respond_to?(:call)

      head(status, headers, Frames::UPGRADE)
      Upgrade.start(@slot, callable) { close(body) }
      :upgraded
    end

    def deliver(status, headers, body)
      # Rails 6 has bodies whose to_ary gives nil.
      if body.respond_to?(:to_ary) && (pieces = body.to_ary) then whole(status, headers, pieces)
      elsif @slot.names_files && body.respond_to?(:to_path) && File.file?(path = File.expand_path(body.to_path))
        head(status, headers, Frames::FILE, path)
      elsif body.respond_to?(:each) then parts(status, headers, body)
      elsif body.respond_to?(:call) then stream(status, headers, body)
      else raise BadAnswer, "the body must respond to each or call, but #{body.class} has neither"
      end
    end

    def whole(status, headers, parts)
      parts.each { |part| string(part) }
      size = parts.sum(&:bytesize)
      return head(status, headers, 0, Frames.join(parts)) if size <= Channel::WHOLE

      headers.add("content-length", size.to_s) unless headers.content_length || status == 204 || status == 304
      more(status, headers) { parts.each { |part| @slot.chunk(part) } }
    end

    def parts(status, headers, body)
      if headers.content_length && headers.content_length.to_i <= GATHERED
        parts = []
        body.each do |part|
          @slot.check_client
          parts << string(part).dup
        end
        whole(status, headers, parts)
      else
        more(status, headers) { body.each { |part| @slot.chunk(string(part)) } }
      end
    end

    def stream(status, headers, body)
      more(status, headers) { body.call(Stream.new(@slot, @slot.input)) }
    end

    # A head, then the body in pieces, then its end.
    def more(status, headers)
      Thread.handle_interrupt(RequestTimeout => :never) do
        head(status, headers, Frames::MORE)
        @begun = @slot.seq
        @slot.flush
      end
      yield
      Thread.handle_interrupt(RequestTimeout => :never) do
        @slot.send_now(Frames::END_OF_BODY, @later ? "\x01" : "")
        @ended = @slot.seq
      end
    end

    def head(status, headers, flags, body = "")
      block = headers ? headers.block : ""
      raise BadAnswer, "the headers have more than #{Channel::WHOLE} bytes" if block.bytesize > Slot::WHOLE

      flags |= Frames::LATER if @later && flags != Frames::MORE
      numbers = [@slot.seq, status, flags, headers ? headers.pairs : 0, block.bytesize]
      @slot.add(Frames::ANSWER, [*numbers, block, body].pack("NnCnNa*a*"))
      @ended = @slot.seq unless flags == Frames::MORE
    end

    def string(part)
      return part if part.is_a?(String)

      raise BadAnswer, "the body must be made of Strings, not of #{part.class}"
    end

    # Once for each body, whatever happened before; what goes wrong here is too late for an answer.
    def close(body)
      body.close if body.respond_to?(:close)
    rescue StandardError => error
      Log.exception(error, "the body of an answer could not be closed")
    end
  end
end
