# frozen_string_literal: true

# How a body is asked for its bytes: by to_ary, to_path, each or call, or not at all.

module FoolsGold
  # Part of Answer, which sends what comes of it.
  module Delivery
    # A body that says it is not longer than this is gathered and sent in one piece.
    GATHERED = 65_536

    # How far the times of files may be off, in seconds: some file systems keep them to two seconds.
    CLOCK_SECONDS = 2

    # RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5.
    WITHOUT_CONTENT = [204, 205, 304].freeze

    private

    # In the order in which Rack's SPEC and Puma ask a body; one that nobody gets is only closed.
    def deliver(status, headers, body)
      if WITHOUT_CONTENT.include?(status) then head(status, headers, 0)
      elsif (parts = list(headers, body)) then whole(status, headers, parts)
      elsif (path = path(status, headers, body)) then file(status, headers, path)
      elsif head? then head(status, headers, Frames::UNASKED)
      elsif body.respond_to?(:each) then parts(status, headers, body)
      elsif body.respond_to?(:call) then stream(status, headers, body)
      else refuse(body)
      end
    end

    def refuse(body)
      found = body.nil? ? "it is nil" : "#{body.class} has neither"
      raise BadAnswer, "the body must respond to each or call, but #{found}"
    end

    def head?
      @slot.environment["REQUEST_METHOD"] == "HEAD"
    end

    # The parts of a body that is complete. One whose length is known is not asked for them: to_ary may have to run it,
    # and what it returns need not be an Array (Rails).
    def list(headers, body)
      return body if Array === body
      return [body] if String === body # Rack 1, Thin and Passenger.
      return if headers.framed? || !body.respond_to?(:to_ary)

      parts = body.to_ary
      parts if Array === parts
    end

    # The path of a file that the front can send in the place of the body. An open File may stand elsewhere than at its
    # beginning, or have lost its name to another; the file of a partial answer is the whole.
    def path(status, headers, body)
      return unless @slot.names_files && !headers.coded? && body.respond_to?(:to_path) && body.respond_to?(:each)

      path = body.to_path or return
      path = File.absolute_path(path)
      return unless File.file?(path) && File.readable?(path)
      return if File === body && !(body.pos.zero? && same?(body, path))

      path unless status == 206 && headers.content_length && headers.content_length.to_i != File.size(path)
    end

    # The body is closed before the front opens the file, and may remove it then. What this request may have written is
    # sent from here: the next one may write to the same path before the client has all of it.
    def file(status, headers, path)
      File.open(path, "rb") do |file|
        next copy(status, headers, file) unless at_rest?(file)

        close
        next copy(status, headers, file) unless same?(file, path)

        Thread.handle_interrupt(RequestTimeout => :never) do
          head(status, headers, Frames::FILE, path)
          @slot.flush
        end
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
      headers.content_length = content.bytesize
      head? ? head(status, headers, Frames::UNASKED) : head(status, headers, 0, content)
    end

    def copy_long(status, headers, file, size)
      headers.content_length = size
      return head(status, headers, Frames::UNASKED) if head?

      part = String.new
      more(status, headers) { |out| out.write(part) while file.read(Channel::WHOLE, part) }
    end

    # Not File.identical?, which compares names in JRuby.
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
      return head(status, headers, 0, Frames.join(parts)) if size <= Channel::WHOLE

      headers.add("content-length", size.to_s) unless headers.framed?
      return head(status, headers, Frames::UNASKED) if head?

      more(status, headers) { |out| parts.each { |part| out.write(part) } }
    end

    def parts(status, headers, body)
      if headers.content_length && headers.content_length.to_i <= GATHERED
        whole(status, headers, gathered(body, headers.content_length.to_i))
      elsif FoolsGold.hooks.any?(:error_response)
        first_before_head(status, headers, body)
      else
        more(status, headers) { |out| body.each { |part| out.write(string(part)) } }
      end
    end

    # As in Puma the head goes with the first part: where that is an exception, lowlevel_error_handler gives the answer.
    def first_before_head(status, headers, body)
      finish_more do |out|
        body.each do |part|
          part = string(part)
          begin_more(status, headers) unless begun?
          out.write(part)
        end
        begin_more(status, headers) unless begun?
      end
    end

    # Of what is beyond the announced length only the beginning is kept, so that the front sees it.
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
      more(status, headers) { |out| out.lend { body.call(out) } }
    end

    # Nothing is sent of nil, as Puma has it. Symbols and numbers can be written in one way only.
    def string(part)
      case part
      when String then part
      when nil, Symbol, Numeric then part.to_s
      else raise BadAnswer, "the body must be made of Strings, not of #{part.class}"
      end
    end
  end
end
