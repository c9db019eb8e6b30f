# frozen_string_literal: true

# How frames are written to a connection that several threads use.

module FoolsGold
  # For a class with a connection (`@io`), a buffer for frames that are written together (`@out`, a String), and a Mutex
  # for those who write it (`@sending`).
  module Output
    # The largest body in bytes that is sent in one frame, well below the limit of frames.
    WHOLE = 524_288

    # The size in bytes below which a chunk of a body is copied to the buffer and written with it.
    LARGE = 16_384

    # Masks for exceptions of other threads: all are deferred; or all but RequestTimeout interrupt a wait.
    WHOLLY = { Object => :never }.freeze
    WAITING = { Object => :on_blocking, RequestTimeout => :never }.freeze
    private_constant :LARGE

    # Adds a frame, which is written with the others.
    def add(kind, payload)
      frame = Frames.frame(kind, payload)
      @out << frame # In one step: another thread may write the buffer, and put an empty one in its place.
    end

    # Writes the buffer. Threads of the application (early hints) and Control's do this, too, one at a time.
    def flush
      @sending.synchronize { write } unless @out.empty?
    end

    # Sends the bytes of a string from here on at once, in CHUNKs. If an exception of another thread ends that between
    # two of them, the body has a hole (`tear`). One CHUNK is sent whole, or not at all.
    def send_pieces(string, at = 0)
      size = string.bytesize
      is_whole = at.zero? && size <= WHOLE
      while at < size
        Thread.handle_interrupt(WAITING) { send_piece(string, at, [size - at, WHOLE].min) }
        at += WHOLE
      end
      is_whole = true
    rescue Errno::EPIPE, Errno::ECONNRESET
      is_whole = true # Nobody reads the rest.
      raise
    ensure
      tear unless is_whole
    end

    # Sends one CHUNK of bytes of a string. A large one is not copied to the buffer first.
    def send_piece(string, at, size)
      piece = size == string.bytesize ? string.b : string.byteslice(at, size).b
      @sending.synchronize do
        add(Frames::CHUNK, piece) if size < LARGE
        size < LARGE ? write : write([size + 1, Frames::CHUNK].pack("NC"), piece)
      end
    end

    # Writes the buffer and these strings; for the owner of `@sending`. If an exception of another thread (Timeout,
    # Thread#raise) breaks it off while it waits, the rest stays at the front of the buffer, so that a frame is never
    # cut. What other threads add meanwhile comes after it. Elsewhere nothing may break it off: Ruby raises such an
    # exception after a system call too, when the bytes are written and not counted yet.
    def write(*pieces)
      Thread.handle_interrupt(WHOLLY) do
        pieces.unshift(@out)
        @out = String.new
        write_all(pieces)
      end
    end

    def write_all(pieces)
      until pieces.empty?
        count = some_written(pieces.first)
        count == pieces.first.bytesize ? pieces.shift : pieces[0] = pieces.first.byteslice(count..-1)
      end
    ensure
      @out.prepend(pieces.join("")) unless pieces.empty?
    end

    if RUBY_ENGINE == "jruby"
      # JRuby has no sendmsg_nonblock for Unix sockets, and does not say how much was written until it was broken off.
      def some_written(bytes)
        Thread.handle_interrupt(Object => :never) { @io.write(bytes) }
      end
    else
      def some_written(bytes)
        return 0 if bytes.empty?

        while (count = @io.sendmsg_nonblock(bytes, exception: false)) == :wait_writable
          Thread.handle_interrupt(WAITING) { IO.select(nil, [@io]) }
        end
        count
      end
    end
  end
end
