# frozen_string_literal: true

# The connection of a slot, and its output buffer.

module FoolsGold
  # Collects frames in `@out` and writes them together.
  class Channel
    include Output

    # The smallest string in bytes that is lent to the front. Waiting for its release costs more with less.
    LENT = 2 * WHOLE

    # The most bytes of a file that are read and sent at once.
    PART = 65_536

    # The number of the slot; and of the current request the number, environment, input, and start in nanoseconds.
    attr_reader :number, :seq, :environment, :input, :started

    # Whether this Ruby gives the address of a string: CRuby only.
    HAS_ADDRESSES = RUBY_ENGINE == "ruby"

    # A string that the front reads, the queue for the number of bytes that it has read, and the number of the request.
    Loan = Struct.new(:string, :taken, :seq)
    private_constant :Loan

    # Whether the front sends files by their path; whether it reads long strings in the memory of this process; and
    # whether this process may write these to clients itself.
    attr_accessor :names_files, :lends_memory, :writes_directly

    # The claims of the worker; nil in a Ruby to which nothing is sent ahead.
    attr_writer :claims

    def initialize(wire, worker, number)
      @wire = wire
      @worker = worker
      @number = number
      @io = wire.open_blocking(Frames::SLOT_ROLE, worker, number)
      @out = String.new
      @started = @seq = 0
      @sending = Mutex.new
      @cancelled = [].freeze
      @loans = []
      @claims = nil
      @direct = @lent = nil
      @directs = 0
      @pid = Process.pid
      @taken = @taken_seq = @answered = @torn = nil
    end

    # The class and the number alone. The callables of an environment refer to this object, and applications log and
    # show environments; this object refers to the token of the wire, to bytes of earlier requests, and to the
    # environment.
    def inspect
      "#<#{self.class} #{@number}>"
    end

    # The same text for Active Support's `to_json`, which by itself follows these references without end.
    def as_json(*)
      inspect
    end

    # Whether `answer` has encoded the answer of the current request.
    def answered?
      @answered == @seq
    end

    # The connection that the application took with `rack.hijack` in the current request.
    def taken
      @taken if @taken_seq == @seq
    end

    # Notes that the application has taken the connection of this request. A thread may do so when the slot already has
    # the next request, which that does not concern.
    def take(io, seq)
      @taken = io
      @taken_seq = seq
    end

    # Ends the connection that the application took in the current request, which has failed. Puma and Unicorn write an
    # error to it then, and close it. Here nothing follows the output of the application, and the front logs that it is
    # not complete. The descriptor stays open: code of the application that uses it, such as an event loop, reads the
    # end and closes it.
    def break_off_taken
      io = taken
      return if io.closed?

      break_off(seq)
      io.shutdown(:RDWR)
    rescue SystemCallError, IOError
      nil # The application has closed the descriptor through another object.
    end

    # Notes that the body of the current answer has a hole.
    def tear
      @torn = seq
    end

    # Whether it has one: then nothing can complete it.
    def torn?
      @torn == seq
    end

    # Adds a frame and writes the buffer: not to be broken off in the middle by a RequestTimeout.
    def send_now(kind, payload)
      Thread.handle_interrupt(RequestTimeout => :never) do
        add(kind, payload)
        flush
      end
    end

    # Writes a chunk of a body at once.
    def chunk(string)
      check_client
      settle
      size = string.bytesize
      return send_pieces(string) unless size >= LENT && lends?

      lend(string.b.freeze, size)
      settle
    end

    # Whether the front may read strings here. Not in a process that the application has forked in this request: the
    # front would read the memory of the worker.
    def lends?
      @lends_memory && own_process?
    end

    # Whether this is the worker, and not a process that the application has forked.
    def own_process?
      Process.pid == @pid
    end

    # Raises in a process that the application has forked: the front would take what that writes for a part of the
    # answer that the worker is sending, which may be another client's.
    def check_process
      return if own_process?

      raise IOError, "only the worker, process #{@pid}, can write to this answer, and no process that it has forked: " \
                     "write to a pipe (IO.pipe), which the body reads in the worker"
    end

    # Writes a string that nothing changes to the client itself, or lets the front read it, as the front decides. It
    # stays until the front has released it; `settle` waits for that.
    def lend(string, size)
      Thread.handle_interrupt(WAITING) do
        direct = open_direct if @writes_directly
        @lent = loan = Loan.new(string, Queue.new, seq)
        @loans << loan
        add(Frames::MEMORY, [*[string].pack("P").unpack("J"), size, direct ? direct.number : 0].pack("Q>Q>N"))
        next unless offer(direct, string) == size

        # No release follows. Compared by identity: there may be an equal string that the front still reads.
        @loans.delete_if { |one| one.equal?(loan) }
        @lent = nil
      end
    end

    # Waits until the front has released the string that was lent last, and sends what the front may not read of it. If
    # an exception of another thread breaks off the wait and the application goes on, the next part of the same body
    # calls this first: otherwise the body would have a hole.
    def settle
      loan = @lent or return
      return unless loan.seq == seq && own_process? # A child that the application has forked learns of no release.

      Thread.handle_interrupt(WAITING) do
        flush # The exception may have come before the offer was sent.
        taken = loan.taken.pop
        @lent = nil
        next if taken == loan.string.bytesize

        @lends_memory = false
        send_pieces(loan.string, taken)
      end
    end

    # Forgets the string that was lent last, since its body breaks off: it stays only until the front has released it.
    def forget_loan
      @lent = nil
    end

    # Sends the offer of a string, and writes it to the client if the front passes that on. Returns the number of bytes.
    # If an exception of another thread breaks this off before the front has answered, the connection is closed: that
    # may have been before the offer was sent, and the answer to it would be taken for the one to the next offer.
    def offer(direct, string)
      direct&.await
      flush
      direct&.write(string)
    ensure
      direct.close if direct&.awaits?
    end

    # The connection for writing to clients; nil where it cannot be had now, because of too many open files. Each has
    # another number: the front may get to a string only when an exception has ended the connection on which it was
    # offered, and the next string is offered on another one.
    def open_direct
      @direct = nil if @direct&.closed?
      @direct ||= Direct.open(@wire, @worker, @number, @directs += 1)
    rescue SystemCallError, IOError
      nil
    end

    # Calls the block, which sends the path of a file as an answer, and returns when the front has opened the file. The
    # front reports that like the end of a loan. What the application does after the answer may remove the file.
    def until_opened
      Thread.handle_interrupt(WAITING) do
        loan = Loan.new(nil, Queue.new)
        @loans << loan
        begin
          yield
        rescue BadAnswer
          @loans.pop # Nothing was sent.
          raise
        end
        loan.taken.pop
      end
    end

    # Called by Control: ends the oldest loan, of which the front has read `taken` bytes.
    def release(taken)
      @loans.shift&.taken&.push(taken)
    end

    # Sends the rest of a file in chunks, or the next `size` bytes of it: it may still grow. They are read into one
    # String: each new one would be garbage, and together as much as the file. IO.copy_stream would make none, but it
    # passes pages of the file itself on (sendfile), and the front would read there what a later request has written to
    # them.
    def send_file(file, size = nil)
      part = String.new
      while file.read(size ? [size, PART].min : PART, part) && !part.empty?
        size -= part.bytesize if size
        check_client
        Thread.handle_interrupt(WAITING) { send_own(part) }
      end
    ensure
      part.clear
    end

    # Sends one CHUNK of a binary String that only the caller has, so that nothing changes it meanwhile. The caller may
    # change it afterwards.
    def send_own(string)
      @sending.synchronize { write([string.bytesize + 1, Frames::CHUNK].pack("NC"), string) }
    end

    # Opens a connection for a hijack of this request.
    def open_connection(role, seq)
      flush if own_process? # In a child that the application has forked, the buffer is a copy.
      @wire.open(role, @worker, @number, seq)
    end

    # Returns such a connection when the front confirms, with one byte, that it is the application's.
    def confirmed(io)
      return io if io.recv(1) == "\x01"

      io.close
      raise IOError, "the client's connection is gone or cannot be taken"
    end

    # Tells the front that the hijacked connection of this request ends before its output is complete, and waits until
    # the front knows. Not from a process that the application has forked: the worker's code may go on.
    def break_off(seq)
      return unless own_process?

      io = @wire.open(Frames::BROKEN_ROLE, @worker, @number, seq)
      io.recv(1)
      io.close
    rescue SystemCallError, IOError
      nil # This process may have no more files, or the front is gone.
    end

    # Called by Control: the client of this request has gone. The list is replaced, never changed, as two threads use
    # it; it is short, since it names requests that are here now.
    def cancel(seq)
      @cancelled = (@cancelled + [seq]).last(16).freeze
    end

    # Raises, between the parts of a body, if the client has gone.
    def check_client
      raise Errno::EPIPE, "the client has gone" if gone?
    end

    # Whether the client of the current request has gone.
    def gone?
      @cancelled.include?(@seq)
    end

    # Ends the reading side: requests that are already here are still read, then comes the end.
    def close_read
      @io.shutdown(:RD)
    rescue IOError, SystemCallError
      nil # Closed already.
    end
  end
end
