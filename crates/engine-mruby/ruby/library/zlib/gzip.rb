# Zlib::GzipWriter: header and trailer of RFC 1952 around a deflated stream. GzipReader is in gunzip.rb.

module Zlib
  class GzipFile
    class Error < Zlib::Error; end
    class NoFooter < Error; end
    class CRCError < Error; end
    class LengthError < Error; end

    attr_reader :orig_name, :comment, :level, :os_code

    def self.wrap(*args, **options)
      file = new(*args, **options)
      return file unless block_given?
      begin
        yield file
      ensure
        file.close unless file.closed?
      end
    end

    def self.open(path, *)
      raise NotImplementedError, "#{self}.open(#{path.inspect}): give it an IO. #{FoolsGold::HINT}"
    end

    def mtime = Time.at(@mtime || 0)
    def to_io = @io
    def crc = @crc
    def closed? = @closed ? true : false
    def sync = false
    def sync=(value)
      value
    end

    # Ends the stream and closes the underlying IO.
    def close
      io = finish
      io.close if io.respond_to?(:close)
      io
    end

    private

    def opened!
      raise GzipFile::Error, "closed gzip stream" if @closed
    end
  end

  class GzipWriter < GzipFile
    include FoolsGold::Writing

    attr_reader :pos
    alias tell pos

    def initialize(io, level = nil, _strategy = nil, **)
      @io = io
      @level = level || DEFAULT_COMPRESSION
      @os_code = OS_CODE
      # Negative window bits: a raw stream, since header and trailer are written here.
      @stream = Deflate.new(@level, -MAX_WBITS)
      @crc = @pos = 0
    end

    def mtime=(time)
      before_header
      @mtime = time.to_i
    end

    def orig_name=(name)
      before_header
      @orig_name = name.dup
    end

    def comment=(text)
      before_header
      @comment = text.dup
    end

    def write(*texts)
      opened!
      texts.sum do |text|
        text = text.to_s
        @crc = Zlib.crc32(text, @crc)
        @pos += text.bytesize
        put(@stream.deflate(text))
        text.bytesize
      end
    end

    def flush(flush = SYNC_FLUSH)
      put(@stream.flush(flush))
      @io.flush if @io.respond_to?(:flush)
      self
    end

    # Ends the stream and returns the underlying IO, which stays open.
    def finish
      opened!
      put(@stream.finish)
      # The trailer: checksum and length modulo 2**32.
      @io.write([@crc, @pos & 0xffffffff].pack("VV"))
      @stream.close
      @closed = true
      @io
    end

    private

    def before_header
      raise GzipFile::Error, "header is already written" if @headed
    end

    # The header is written with the first bytes, so that its fields can be set until then.
    def put(bytes)
      header unless @headed
      @io.write(bytes) unless bytes.empty?
    end

    def header
      @headed = true
      flags = (@orig_name ? 8 : 0) | (@comment ? 16 : 0)
      extra = { BEST_COMPRESSION => 2, BEST_SPEED => 4 }.fetch(@level, 0)
      @mtime = Time.now.to_i if @mtime.nil?
      head = [0x1f, 0x8b, 8, flags, @mtime, extra, OS_CODE].pack("CCCCVCC")
      [@orig_name, @comment].each { |text| head << text << "\0" if text }
      @io.write(head)
    end
  end

  FoolsGold.wait_for(self, :GzipReader, "foolsgold/zlib/gunzip")
end
