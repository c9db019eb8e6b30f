# frozen_string_literal: true

# The connection of a slot, and what is on its way out there.

module FoolsGold
  # Frames are gathered in `@out` and written together.
  class Channel
    # A body up to here goes in one frame, well below the limit of frames.
    WHOLE = 524_288

    # A piece of a body that is shorter is copied to what is written together.
    LARGE = 16_384

    NONE = [].freeze
    private_constant :NONE

    # The number of the slot; of the current request its number, environment, input, and when it began in nanoseconds.
    attr_reader :number, :seq, :environment, :input, :started

    # The connection that the application took with `rack.hijack`, until its request is done; and whether the front
    # sends files that are named to it.
    attr_accessor :taken, :names_files

    def initialize(wire, worker, number)
      @wire = wire
      @worker = worker
      @number = number
      @io = wire.open_blocking(Frames::SLOT_ROLE, worker, number)
      @out = String.new
      @mark = @started = @seq = 0
      @is_sending = false
      @cancelled = NONE
      @taken = nil
    end

    # Whether a whole answer of the current request is in the buffer.
    def answered?
      @out.bytesize > @mark
    end

    # Adds a frame, which is written with the others.
    def add(kind, payload)
      @out << Frames.frame(kind, payload)
    end

    # Adds a frame and writes all: not to be broken off in the middle by a RequestTimeout.
    def send_now(kind, payload)
      Thread.handle_interrupt(RequestTimeout => :never) do
        add(kind, payload)
        flush
      end
    end

    # A piece of a body, written at once.
    def chunk(string)
      check_client
      size = string.bytesize
      at = 0
      while at < size
        Thread.handle_interrupt(Object => :on_blocking, RequestTimeout => :never) do
          send_piece(string, at, [size - at, WHOLE].min)
        end
        at += WHOLE
      end
    end

    # One CHUNK of bytes of this string. Where they are many, they are not copied to the buffer first.
    def send_piece(string, at, size)
      piece = size == string.bytesize ? string.b : string.byteslice(at, size).b
      add(Frames::CHUNK, piece) if size < LARGE
      waiting = @out
      @out = String.new
      @mark = 0
      size < LARGE ? write(waiting) : write(waiting, [size + 1, Frames::CHUNK].pack("NC"), piece)
      flush
    end

    # Writes these. When an exception of another thread (Timeout, Thread#raise) breaks it off, which it may while it
    # waits, what is left stays in the buffer before all else: a frame is whole, whatever happens. What other threads
    # add meanwhile comes after it.
    def write(*pieces)
      @is_sending = true
      until pieces.empty?
        count = some_written(pieces.first)
        count == pieces.first.bytesize ? pieces.shift : pieces[0] = pieces.first.byteslice(count..-1)
      end
    ensure
      @is_sending = false
      @out.prepend(pieces.join) unless pieces.empty?
    end

    if RUBY_ENGINE == "jruby"
      # It has no such call for Unix sockets.
      def some_written(bytes)
        @io.write(bytes)
      end
    else
      def some_written(bytes)
        return 0 if bytes.empty?

        while (count = @io.sendmsg_nonblock(bytes, exception: false)) == :wait_writable
          IO.select(nil, [@io])
        end
        count
      end
    end

    def flush
      return if @out.empty? || @is_sending

      @io.write(@out)
      @out.clear
      @mark = 0
    end

    # A connection for a hijack. It is the application's when the front says so, with one byte.
    def open_connection(role)
      flush
      io = @wire.open(role, @worker, @number, @seq)
      return io if io.recv(1) == "\x01"

      io.close
      raise IOError, "the client's connection is gone or cannot be taken"
    end

    # Called by Control: nobody waits for this request any more. The list is replaced, never changed, as two threads
    # use it, and short, as it is for requests that are here now.
    def cancel(seq)
      @cancelled = (@cancelled + [seq]).last(16).freeze
    end

    # Raises, between the parts of a body, when there is nobody who would take the next.
    def check_client
      raise Errno::EPIPE, "the client has gone" if gone?
    end

    # Whether the client of the current request has gone.
    def gone?
      @cancelled.include?(@seq)
    end

    # Requests that are already here are still read; then comes the end.
    def close_read
      @io.shutdown(:RD)
    rescue IOError, SystemCallError
      nil # Closed already.
    end
  end
end
