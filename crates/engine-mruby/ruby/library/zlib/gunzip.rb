# Zlib::GzipReader: reads gzip members (RFC 1952) from any object with `read`.

module Zlib
  class GzipReader < GzipFile
    include FoolsGold::Reading
    include Enumerable

    CHUNK = 16 << 10

    # The content of all members of a file, one behind the other.
    def self.zcat(io, **)
      out = "".b
      loop do
        reader = new(io, external_encoding: "BINARY")
        out << reader.read
        rest = reader.unused
        reader.finish
        break if rest.nil?
        # Bytes behind the member were read ahead already; the next member begins with them.
        io = StringIO.new(rest + io.read.to_s)
      end
      out
    end

    # Reads a file below the application's folder; with a block, closes it afterwards.
    def self.open(path, **options, &block) = wrap(File.open(path, "rb"), **options, &block)

    # The content is text, unless `external_encoding` says that it is bytes.
    def initialize(io, **options)
      @io = io
      @binary = FoolsGold.binary?("", options)
      @raw = ""
      start
    end

    def read(length = nil, buffer = nil)
      opened!
      raise ArgumentError, "negative length #{length} given" if length && length < 0
      super
    end

    def eof?
      slice_at(@position, 1).empty?
    end
    alias eof eof?

    def rewind
      raise GzipFile::Error, "the stream below cannot be rewound" unless @io.respond_to?(:rewind)
      @io.rewind
      @raw = ""
      start
      0
    end

    # The bytes read behind this member, or nil.
    def unused
      return nil unless @done
      @raw.empty? ? nil : @raw
    end

    def finish
      opened!
      @stream.close unless @stream.closed?
      @closed = true
      @io
    end
    alias close_stream finish

    def close = GzipFile.instance_method(:close).bind(self).call
    # CRuby has no such method, and the length of the content is not known before the end.
    def size = raise(NoMethodError, "undefined method 'size' for an instance of Zlib::GzipReader")

    # Puts a byte before the position, for the next read.
    def ungetbyte(byte)
      return if byte.nil?
      text = Integer === byte ? (byte & 255).chr : byte.to_s
      kept = @text.byteslice(0, [@position - text.bytesize, 0].max)
      rest = @text.byteslice(@position, @text.bytesize) || ""
      @text = kept + text.dup.force_encoding(@text.encoding) + rest
      @position = kept.bytesize
      nil
    end

    def ungetc(char) = ungetbyte(Integer === char ? [char].pack("U") : char)

    # The whole content of one member, for Zlib.gunzip.
    def read_member
      text = read.__binary!(true)
      finish
      text
    rescue NoFooter
      raise GzipFile::Error, "footer is not found"
    end

    private

    def start
      @position = @lineno = @crc = 0
      @text = ""
      @done = false
      header
      @stream = Inflate.new(-MAX_WBITS)
    end

    def need(count)
      while @raw.bytesize < count
        more = @io.read(CHUNK)
        raise GzipFile::Error, "not in gzip format" if more.nil? || more.empty?
        @raw << more
      end
      taken = @raw.byteslice(0, count)
      @raw = @raw.byteslice(count, @raw.bytesize)
      taken
    end

    def text_field
      text = ""
      until (byte = need(1)) == "\0"
        text << byte
      end
      text
    end

    def header
      magic, method, flags, @mtime, extra, @os_code = need(10).unpack("vCCVCC")
      raise GzipFile::Error, "not in gzip format" unless magic == 0x8b1f
      raise GzipFile::Error, "unsupported compression method" unless method == 8
      @level = { 2 => BEST_COMPRESSION, 4 => BEST_SPEED }.fetch(extra, DEFAULT_COMPRESSION)
      # RFC 1952, section 2.3.1: extra field, name, comment and header checksum, in this order.
      need(need(2).unpack1("v")) if flags & 4 != 0
      @orig_name = flags & 8 != 0 ? text_field : ""
      @comment = flags & 16 != 0 ? text_field : ""
      need(2) if flags & 2 != 0
    end

    # Decompresses as far as needed. All content is kept, since ungetc and `pos` may go back.
    def slice_at(position, length)
      inflate_more until @done || @text.bytesize >= position + length
      position >= @text.bytesize ? "" : @text.byteslice(position, length).__binary!(@binary)
    end

    def inflate_more
      # Bytes that were read with the header, else the next ones.
      raw = @raw
      @raw = ""
      raw = @io.read(CHUNK) || raise(GzipFile::Error, "unexpected end of file") if raw.empty?
      part = @stream.inflate(raw)
      @crc = Zlib.crc32(part, @crc)
      @text << part
      check if @stream.finished?
    end

    def check
      @raw = @stream.flush_next_in
      @done = true
      begin
        crc, length = need(8).unpack("VV")
      rescue GzipFile::Error
        raise NoFooter, "footer is not found"
      end
      raise CRCError, "invalid compressed data -- crc error" unless crc == @crc
      raise LengthError, "invalid compressed data -- length error" unless length == @text.bytesize & 0xffffffff
    end
  end
end
