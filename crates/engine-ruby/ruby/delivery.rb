# frozen_string_literal: true

# How the bytes of a body are obtained: by to_ary, to_path, each or call, or not at all.

module FoolsGold
  # The part of Answer that reads bodies.
  module Delivery
    # The largest body, by its announced length in bytes, that is collected and sent in one piece.
    GATHERED = 65_536

    # The size in bytes from which a String of a long Array is sent by itself; shorter ones are joined up to this size.
    JOINED = 65_536

    # The most bytes that are read at once of a body that is an IO.
    READ = 65_536

    # The inaccuracy of file times in seconds: some file systems keep them to two seconds.
    CLOCK_SECONDS = 2

    # Statuses without content: RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5.
    WITHOUT_CONTENT = [204, 205, 304].freeze

    private

    # Obtains the body in the order of Rack's SPEC and of Puma; a body that is not sent is only closed. Where the proxy
    # sends a file instead, a Content-Length may be that of the file. For HEAD no length of a body contradicts it.
    def deliver(status, headers, body)
      headers.content_length = nil if headers.of_proxy? && !head? && !body.respond_to?(:to_path)
      if WITHOUT_CONTENT.include?(status) then head(status, headers, 0)
      elsif (parts = list(headers, body)) then whole(status, headers, parts)
      elsif (path = path(status, headers, body)) then file(status, headers, path)
      elsif head? && !body.equal?(Answer::MISSING) then head(status, headers, Frames::UNASKED)
      elsif body.respond_to?(:each) then parts(status, headers, body)
      elsif body.respond_to?(:call) then stream(status, headers, body)
      else refuse(body)
      end
    end

    def refuse(body)
      found =
        case body
        when nil then "it is nil"
        when Answer::MISSING then "there is none: an application returns [status, headers, body]"
        else "#{body.class} has neither"
        end
      raise BadAnswer, "the body must respond to each or call, but #{found}"
    end

    def head?
      @client_method == "HEAD"
    end

    # The parts of a complete body. If its length is known, to_ary is not called: it may have to run the body, and need
    # not return an Array (Rails).
    def list(headers, body)
      return body if Array === body
      return [body] if String === body # Rack 1, Thin and Passenger.
      return if headers.framed? || !body.respond_to?(:to_ary)

      parts = body.to_ary
      parts if Array === parts
    end

    # The path of a file that the front can send instead of the body. An open File may not be at its beginning, or its
    # name may be another file's by now; a partial answer would get the whole file.
    def path(status, headers, body)
      return unless @slot.names_files && !headers.coded? && body.respond_to?(:to_path) && body.respond_to?(:each)

      path = body.to_path or return
      path = absolute(path) or return
      return unless File.file?(path) && File.readable?(path)
      return if File === body && !(body.pos.zero? && same?(body, path))

      path unless status == 206 && headers.content_length && headers.content_length.to_i != File.size(path)
    end

    # The absolute path; nil where Ruby cannot say it, because a relative path is of another kind of encoding than the
    # folder.
    def absolute(path)
      File.absolute_path(path)
    rescue EncodingError
      nil
    end

    # Sends a file. The body is closed before the front opens the file, and may remove it then; blocks after the answer
    # run when it is open. A file that this request may have written is sent from here: the next request may write to
    # the same path before the client has all of it. So is one whose size does not say what is in it, as in /proc.
    def file(status, headers, path)
      File.open(path, "rb") do |file|
        next copy(status, headers, file) unless at_rest?(file) && file.size.positive?

        close
        @later = @has_more # There is nothing left to close.
        next copy(status, headers, file) unless same?(file, path)

        send_path = -> { send_head(status, headers, Frames::FILE, path) }
        @has_more ? @slot.until_opened(&send_path) : send_path.call
      end
    end

    # Whether the file has not changed since this request began, by its ctime.
    def at_rest?(file)
      running = (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - @slot.started) / 1e9
      Time.now - file.ctime > running + CLOCK_SECONDS
    end

    def copy(status, headers, file)
      return copy_long(status, headers, file, file.size) if file.size > Channel::WHOLE

      content = file.read(Channel::WHOLE) || "" # Which may be more than what the size says, as in /proc.
      return copy_all(status, headers, file, content) unless file.eof?

      headers.content_length = content.bytesize
      head? ? head(status, headers, Frames::UNASKED) : complete(status, headers, content)
    end

    def copy_long(status, headers, file, size)
      headers.content_length = size
      more(status, headers) { @slot.send_file(file, size) }
    end

    # Sends a file of unknown length, of which `content` has been read.
    def copy_all(status, headers, file, content)
      headers.content_length = nil
      more(status, headers) do |out|
        out.write(content)
        @slot.send_file(file)
      end
    end

    # Whether an open file is the one at this path. Not File.identical?, which compares names in JRuby.
    def same?(file, path)
      open = file.stat
      named = File.stat(path)
      open.ino == named.ino && open.dev == named.dev
    rescue SystemCallError
      false
    end

    def whole(status, headers, parts)
      parts = parts.map { |part| string(part) } unless parts.all?(String)
      size = parts.sum(&:bytesize)
      check_length(headers, size)
      return complete(status, headers, Frames.join(parts)) if size <= Channel::WHOLE

      headers.announce(size)
      more(status, headers) { |out| joined(parts) { |part| out.write(part) } }
    end

    # Yields the parts of a long body, with short ones joined: each write takes a system call, and wakes the front.
    def joined(parts)
      short = []
      size = 0
      parts.each do |part|
        is_long = part.bytesize >= JOINED
        if !short.empty? && (is_long || size >= JOINED)
          yield Frames.join(short)
          short = []
          size = 0
        end
        if is_long
          yield part
        else
          short << part
          size += part.bytesize
        end
      end
      yield Frames.join(short) unless short.empty?
    end

    # Refuses a body that is shorter than its Content-Length, as the front does: here lowlevel_error_handler can answer.
    def check_length(headers, size)
      length = headers.content_length
      return if length.nil? || length.to_i <= size || headers.coded? || head?

      raise BadAnswer, "the Content-Length is #{length}, but the body has #{size} #{size == 1 ? 'byte' : 'bytes'}"
    end

    def parts(status, headers, body)
      if headers.content_length && headers.content_length.to_i <= GATHERED
        whole(status, headers, gathered(body, headers.content_length.to_i))
      elsif FoolsGold.hooks.any?(:error_response)
        first_before_head(status, headers, body)
      else
        more(status, headers) { |out| each_part(body) { |part| out.write(part) } }
      end
    end

    # Sends the head with the first part, as in Puma: if that raises, lowlevel_error_handler gives the answer. A body
    # may keep the block and call it after its end, when the slot has the request of another client, or none: then the
    # stream is closed, and no head is sent.
    def first_before_head(status, headers, body)
      finish_more do |out|
        begin_answer = -> { out.open { send_head(status, headers, Frames::MORE) unless begun? } }
        each_part(body) do |part|
          begin_answer.call
          out.write(part)
        end
        begin_answer.call
      end
    end

    # Yields the parts of a body. An IO is read as its bytes come: `each` would wait for the end of each line, and each
    # line would be a write of its own.
    def each_part(body)
      return body.each { |part| yield string(part) } unless bytes?(body)

      while (part = read_some(body))
        yield part
      end
    end

    # Whether the lines of a body are together its bytes: it is an IO with Ruby's own `each`, which converts nothing.
    def bytes?(body)
      plain = [IO, *(StringIO if defined?(StringIO))].find { |kind| kind === body } or return false
      body.method(:each).owner == plain && body.internal_encoding.nil?
    end

    def read_some(io)
      io.readpartial(READ)
    rescue EOFError
      nil
    end

    # Collects the body. Of what exceeds the announced length only the beginning is kept, so that the front notices.
    def gathered(body, length)
      parts = []
      size = 0
      body.each do |part|
        @slot.check_client
        part = string(part)
        parts << part.dup if size <= length
        size += part.bytesize
      end
      parts
    end

    def stream(status, headers, body)
      more(status, headers) do |out|
        out.lend { body.call(out) }
        leave(out) if out.left? && !@slot.torn?
      end
    end

    # Leaves a stream to other threads of the application, and so frees the slot; where that cannot be, waits for them.
    def leave(out)
      rest = Rest.open(@slot) or return out.wait
      out.go_on(rest) do
        @left = @slot.seq
        end_more(Frames::LEFT)
      end
    end

    # Converts a part to a string. As in Puma, nil is empty. Symbols and numbers have only one spelling.
    def string(part)
      case part
      when String then part
      when nil then ""
      when Symbol, Numeric then part.to_s
      else raise BadAnswer, "the body must be made of Strings, not of #{part.class}"
      end
    end
  end
end
