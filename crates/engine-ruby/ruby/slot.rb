# frozen_string_literal: true

# One slot: the connection of a worker thread, with requests coming in as environments and answers going out. This is
# the busy path, so it has while loops and reused strings where blocks and new ones would read better.
#
# The native worker replaces it: SETUP `native` names an extension that defines FoolsGold::NativeSlot, a class with the
# public methods of this one. It has next_request and answer in C, and inherits the rest from here.

module FoolsGold
  class Slot < Channel
    # Ruby 3.1 can unpack from the middle of a string.
    OFFSET = RUBY_VERSION >= "3.1"
    REQUEST_HEAD = 16
    # Added to the kind of the body of a request that was sent ahead.
    AHEAD = 128
    READ = 65_536
    # The largest buffer in bytes that is kept; one that grew beyond this for one frame is dropped.
    KEPT = 262_144

    # The nanoseconds that an answer waits in the buffer for those of the requests after it.
    PATIENCE_NS = 1_000_000

    def initialize(wire, worker, number, environment)
      super(wire, worker, number)
      @shapes = Shapes.new(environment, self)
      @makers = @shapes.makers
      @in = String.new(capacity: READ)
      @at = @size = 0
    end

    # The number of the last request that was taken from what the front has sent; and of the last that was answered
    # without the application.
    attr_reader :consumed, :refused

    # Returns the environment of the next request, or nil at the end. Writes the buffer before it waits.
    def next_request
      while true
        if (left = @size - @at) >= REQUEST_HEAD
          length, kind, @seq, shape, how, size =
            OFFSET ? @in.unpack("NCNnCN", offset: @at) : @in.unpack("@#{@at}NCNnCN")
          if kind == Frames::REQUEST && left >= length + 4
            values = @in.byteslice(@at + REQUEST_HEAD, size)
            from = @at + REQUEST_HEAD + size
            @at += length + 4
            @consumed = @seq
            now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
            flush if now - @started > PATIENCE_NS && !@out.empty?
            @started = now
            # Before its body is fetched: the front has no file for it any more, and that would be a second answer.
            next withdraw unless @cancelled.empty? || !gone?
            if how >= AHEAD
              how -= AHEAD
              next withdraw unless @claims.nil? || @claims.begin(@number, @seq)
            end
            @input = how.zero? ? Input::EMPTY : body(how, from, length - 12 - size)
            next unless @input # The request has been answered with an error.

            return @environment = @makers[shape].call(values, @input, [], [])
          end
        end
        return nil unless other_frame(left) || fill
      end
    end

    # Encodes the usual answer: strings for headers, one string in an array for a body. Returns false for any other.
    def answer(status, headers, body)
      return false unless Array === body && body.size == 1 && Hash === headers && Integer === status

      return false unless status > 199 && status < 600 && headers.size <= Headers::MOST

      part = body[0]
      return false unless String === part && (size = part.bytesize) <= WHOLE && !taken && !body.respond_to?(:close)
      return false unless (block = Headers.encode(headers)) && (length = block.bytesize + 1) <= WHOLE
      return false if length == 1 # Without headers there is no last NUL either.

      [14 + length + size, Frames::ANSWER, @seq, status, 0, headers.size, length, block, part]
        .pack("NCNnCnNa*xa*", buffer: @out)
      @answered = @seq
      true
    end

    # Answers a request that the application does not get, with an exception. Returns nil.
    def refuse(seq, error, flags = 0)
      fault = [seq, flags, Frames.error(error)].pack("NCa*")
      @refused = seq
      add(Frames::FAULT, fault)
      nil
    end

    private

    def withdraw
      refuse(@seq, Cancelled.new("withdrawn before it began"), Frames::WITHDRAWN)
    end

    def body(how, from, size)
      how == Input::INLINE ? Input.inline(@in.byteslice(from, size)) : body_file
    end

    # Fetches the body in a file, as an open File. Returns nil if that fails, and answers the request: its client has
    # just gone, or this process may not open another file (EMFILE).
    def body_file
      Thread.handle_interrupt(Object => :never) { Input.in_file(@wire, @worker, @number, @seq) }
    rescue SocketError, SystemCallError, IOError => error
      refuse(@seq, error)
    end

    # Handles a frame that is not a REQUEST, if there is a complete one.
    def other_frame(left)
      return false if left < 5

      length, kind = @in.byteslice(@at, 5).unpack("NC")
      raise ProtocolError, "a frame of #{length} bytes" if length > Frames::LARGEST
      return false if left < length + 4
      raise ProtocolError, "a frame of kind #{kind} on a slot" unless kind == Frames::SHAPE

      @shapes.define(@in.byteslice(@at + 5, length - 1))
      @at += length + 4
    end

    # Reads more; returns false at the end. An exception of another thread may break off a wait, and nothing else: Ruby
    # raises it after a read as well, when the bytes would be lost.
    def fill
      flush
      Thread.handle_interrupt(WHOLLY) do
        if @at == @size
          @in = String.new(capacity: READ) if @size > KEPT
          next false unless received(@in)
        else
          more = received(String.new) or next false
          # Not at each read of a long body: that would copy all of it as often as there are reads.
          @in = @in.byteslice(@at, @size) if @at.positive?
          @in << more
        end
        @at = 0
        @size = @in.bytesize
        true
      end
    rescue Errno::ECONNRESET, IOError => error
      raise if DeadThread.foreign?(error) # It is of another thread, and not of this connection.

      false
    end

    if RUBY_ENGINE == "jruby"
      def received(into)
        Thread.handle_interrupt(WAITING) { @io.readpartial(READ, into) }
      end
    else
      # Reads some bytes into a String; returns it, or nil at the end. While it waits the String is as it was.
      def received(into)
        while (bytes = @io.recv_nonblock(READ, 0, into, exception: false)) == :wait_readable
          Thread.handle_interrupt(WAITING) { IO.select([@io]) }
        end
        bytes unless bytes.nil? || bytes.empty?
      end
    end
  end
end
