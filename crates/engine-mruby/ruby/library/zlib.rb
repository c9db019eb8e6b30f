# Zlib: streams that compress, checksums and constants, by Rust (ruby-stdlib/src/zlib.rs). Inflate and the
# classes of gzip are in zlib/.

module Zlib
  VERSION = "3.1.1".freeze
  ZLIB_VERSION = "1.3.1".freeze
  NO_COMPRESSION, BEST_SPEED, BEST_COMPRESSION, DEFAULT_COMPRESSION = 0, 1, 9, -1
  DEFAULT_STRATEGY, FILTERED, HUFFMAN_ONLY, RLE, FIXED = 0, 1, 2, 3, 4
  MAX_WBITS, DEF_MEM_LEVEL, MAX_MEM_LEVEL = 15, 8, 9
  NO_FLUSH, PARTIAL_FLUSH, SYNC_FLUSH, FULL_FLUSH, FINISH = 0, 1, 2, 3, 4
  BINARY, ASCII, TEXT, UNKNOWN = 0, 1, 1, 2
  OS_MSDOS, OS_UNIX, OS_CODE, OS_UNKNOWN = 0, 3, 3, 255

  class Error < StandardError; end
  %i[StreamEnd NeedDict DataError StreamError MemError BufError VersionError InProgressError].each do |name|
    const_set(name, Class.new(Error))
  end

  # Methods of streams that compress and decompress.
  class ZStream
    attr_reader :total_in, :total_out

    def finished? = @finished
    alias stream_end? finished?
    def closed? = @handle.nil?
    alias ended? closed?
    def avail_in = 0
    def avail_out = 0
    def data_type = BINARY

    def close
      raise Error, "stream is not ready" unless @handle
      FoolsGold::Native.handle_close(@handle)
      @handle = nil
    end
    alias end close

    def reset
      FoolsGold::Native.handle_close(@handle) if @handle
      open_stream
      nil
    end

    def set_dictionary(text)
      FoolsGold::Native.zlib_dictionary(ready, text)
      text
    end

    private

    def ready = @handle || raise(Error, "stream is not ready")

    # Sets the state of a new stream. `held` is output that `<<` and `params` leave for the next call that returns any.
    def opened(handle)
      @handle = handle
      @held = ""
      @total_in = @total_out = 0
      @finished = false
    end

    def take_held
      held = @held
      @held = ""
      held
    end

    def give(bytes)
      @total_out += bytes.bytesize
      return bytes unless block_given?
      yield bytes unless bytes.empty?
      nil
    end
  end

  class Deflate < ZStream
    def self.deflate(text, level = nil)
      stream = new(level)
      stream.deflate(text, FINISH)
    ensure
      stream&.close
    end

    def initialize(level = nil, wbits = nil, _memory = nil, _strategy = nil)
      @level = level || DEFAULT_COMPRESSION
      @wbits = wbits || MAX_WBITS
      open_stream
    end

    # The strategy has no effect on the format, so it is ignored.
    def params(level, _strategy)
      @held << run("", SYNC_FLUSH)
      FoolsGold::Native.zlib_level(ready, level)
      @level = level
      nil
    end

    def deflate(text, flush = NO_FLUSH, &block)
      give(take_held + run(text.to_s, flush), &block)
    end

    def <<(text)
      @held << run(text, NO_FLUSH)
      self
    end

    def flush(flush = SYNC_FLUSH, &block) = give(take_held + (flush == NO_FLUSH ? "" : run("", flush)), &block)
    def finish(&block) = give(take_held + (@finished ? "" : run("", FINISH)), &block)

    def initialize_copy(_other)
      raise NotImplementedError, "a Zlib::Deflate cannot be copied. #{FoolsGold::HINT}"
    end

    private

    def open_stream = opened(FoolsGold::Native.deflate_new(@level, @wbits))

    def run(text, flush)
      out = FoolsGold::Native.deflate(ready, text, flush)
      @total_in += text.bytesize
      @finished = true if flush == FINISH
      out
    end
  end

  class << self
    def deflate(text, level = nil) = Deflate.deflate(text, level)
    def inflate(text) = Inflate.inflate(text)
    def crc32(text = nil, sum = 0) = text ? FoolsGold::Native.crc32(text, sum) : 0
    def adler32(text = nil, sum = 1) = text ? FoolsGold::Native.adler32(text, sum) : 1
    def zlib_version = ZLIB_VERSION
    def crc_table = Array.new(256) { |byte| 8.times.inject(byte) { |sum, _| sum[0] * 0xedb88320 ^ sum >> 1 } }
    def crc32_combine(one, two, length) = FoolsGold::Native.crc32_combine(one, two, length)

    # RFC 1950, section 8.2: the sum of all bytes, and the sum of all such sums.
    def adler32_combine(one, two, length)
      base = 65_521
      low = ((one & 0xffff) + (two & 0xffff) - 1) % base
      high = ((one >> 16) + (two >> 16) + length % base * ((one & 0xffff) - 1)) % base
      high << 16 | low
    end

    def gzip(text, level: nil, strategy: nil)
      out = StringIO.new("".b)
      writer = GzipWriter.new(out, level, strategy)
      writer.write(text)
      writer.close
      out.string
    end

    def gunzip(text)
      GzipReader.new(StringIO.new(text)).read_member
    end
  end

  FoolsGold.wait_for(self, :Inflate, "foolsgold/zlib/inflate")
  %i[GzipFile GzipWriter GzipReader].each { |name| FoolsGold.wait_for(self, name, "foolsgold/zlib/gzip") }
end
