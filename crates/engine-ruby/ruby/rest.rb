# frozen_string_literal: true

# The rest of a streamed body: its code has returned, and other threads go on writing to its stream.

module FoolsGold
  # The connection that carries it, so that the slot is free for other requests. One thread of the worker looks after
  # all these connections: it ends bodies whose threads have ended, and closes connections that the front has closed.
  class Rest
    include Output

    # The most at a time, of one worker.
    MOST = 10_000

    # The most looks at single connections in a second. A look takes about a microsecond.
    LOOKS = 10_000

    @all = []
    @lock = Mutex.new
    @added = ConditionVariable.new
    @watcher = nil

    class << self
      # Opens the connection for the rest of the body that this slot sends. Returns nil if it cannot be opened: then the
      # stream holds the slot until its end.
      def open(slot)
        return unless room? && slot.own_process?

        @lock.synchronize { @watcher = start unless @watcher&.alive? }
        new(slot.open_connection(Frames::REST_ROLE, slot.seq))
      rescue SystemCallError, IOError, ThreadError
        nil
      end

      # Looks after this one from now on.
      def watch(rest)
        @lock.synchronize do
          @all << rest
          @added.signal
        end
      end

      private

      # Whether one more may be opened: half of the files that the process may open are left to the application. On
      # JRuby none may, since it cannot wait for several Unix sockets.
      def room?
        RUBY_ENGINE != "jruby" && @all.size < [MOST, Process.getrlimit(:NOFILE).first / 2].min
      end

      def start
        thread = Thread.new { loop { look(await) } }
        thread.name = "left streams"
        thread
      end

      # Returns all that there are, as soon as there are some.
      def await
        @lock.synchronize do
          @added.wait(@lock) while @all.empty?
          @all.dup
        end
      end

      # The front writes nothing to these connections: one that can be read has been closed. All are looked at after a
      # pause, and not as soon as one is closed: that would be a look at all for each that is closed.
      def look(all)
        sleep([Stream::LOOK, all.size.fdiv(LOOKS)].max)
        closed = IO.select(all, nil, nil, 0)&.first || []
        closed.each { |rest| rest.stream.drop }
        @lock.synchronize { @all -= closed } unless closed.empty?
        (all - closed).each { |rest| rest.stream.look }
      rescue StandardError => error # Something has closed them all, say.
        Log.exception(error, "streams that were left to threads are no longer looked after")
        @lock.synchronize { @all -= all }
      end
    end

    # The stream whose chunks it sends.
    attr_accessor :stream

    def initialize(io)
      @io = io
      @out = String.new
      @sending = Mutex.new
      @is_torn = false
    end

    # Notes that the body has a hole.
    def tear
      @is_torn = true
    end

    def torn?
      @is_torn
    end

    def to_io
      @io
    end

    # Writes a chunk of the body at once.
    def chunk(string)
      send_pieces(string)
    rescue Errno::EPIPE, Errno::ECONNRESET
      @out = String.new
      raise Errno::EPIPE, "the client has gone"
    end

    # Ends the body, without waiting: what the connection does not take now, the thread that looks after it writes.
    def finish
      add(Frames::END_OF_BODY, "")
      write_on
    end

    # Breaks the body off with this exception, in the same way.
    def break_off(error)
      add(Frames::FAULT, [0, 0, Frames.error(error)].pack("NCa*"))
      write_on
    end

    # Writes as much of the buffer as the connection takes now.
    def write_on
      Thread.handle_interrupt(WHOLLY) do
        until @out.empty?
          count = @io.sendmsg_nonblock(@out, exception: false)
          break if count == :wait_writable

          @out = @out.byteslice(count..-1)
        end
      end
    rescue SystemCallError
      @out = String.new # The client has gone.
    end

    def close
      @io.close
    end
  end
end
