# Zlib::Inflate: a stream that decompresses.

module Zlib
  class Inflate < ZStream
    def self.inflate(text)
      stream = new
      stream.inflate(text, whole: true)
    ensure
      stream&.close
    end

    def initialize(wbits = MAX_WBITS)
      @wbits = wbits || MAX_WBITS
      open_stream
    end

    # Decompresses the text and returns the output so far; with nil the rest. Bytes behind the end of the stream are
    # kept.
    def inflate(text, buffer: nil, whole: text.nil?, &block)
      # Before the held output is taken: that stays for the next call where this one raises.
      out = run(text.to_s)
      out = take_held + out
      raise BufError, "buffer error" if whole && !@finished
      buffer ? buffer.replace(give(out)) : give(out, &block)
    end

    def <<(text)
      @held << run(text)
      self
    end

    # Adds a dictionary, which is used when a stream asks for its checksum.
    def add_dictionary(text)
      (@dictionaries ||= {})[Zlib.adler32(text)] = text
      nil
    end

    def finish(&block)
      out = take_held
      raise BufError, "buffer error" unless @finished
      give(out, &block)
    end

    def flush_next_in
      rest = @behind
      @behind = ""
      rest
    end

    def avail_in = @behind.bytesize
    def sync(_text) = false
    def sync_point? = false

    private

    def open_stream
      @behind = ""
      @head = nil
      # From 32 on the bits ask for detection of zlib or gzip, which `choose` does.
      @chosen = @wbits > 31 ? nil : @wbits
      opened(FoolsGold::Native.inflate_new(@chosen || MAX_WBITS))
    end

    def run(text)
      ready
      text = choose(text) unless @chosen
      return keep(text) if @finished || text.nil?
      out, taken, @finished = FoolsGold::Native.inflate(@handle, text)
      @total_in += taken
      keep(text.byteslice(taken, text.bytesize)) if @finished
      out
    end

    # Chooses zlib or gzip by the first two bytes.
    def choose(text)
      text = "#{@head}#{text}"
      # The first byte alone may come in one call and the second in the next.
      @head = text
      @total_in = text.bytesize
      return nil if text.bytesize < 2
      @total_in = 0
      @chosen = text.getbyte(0) == 0x1f && text.getbyte(1) == 0x8b ? @wbits - 16 : @wbits - 32
      FoolsGold::Native.handle_close(@handle)
      @handle = FoolsGold::Native.inflate_new(@chosen)
      text
    end

    def keep(text)
      @behind << text if text
      ""
    end
  end
end
