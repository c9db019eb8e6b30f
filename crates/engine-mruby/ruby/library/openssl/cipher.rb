# OpenSSL::Cipher: AES with keys of 128, 192 and 256 bits in the modes CTR, GCM and CBC.

module OpenSSL
  class Cipher
    class CipherError < OpenSSLError; end

    BLOCK = 16
    attr_reader :name, :key_len, :iv_len

    def self.ciphers
      [128, 192, 256].flat_map { |bits| %w[cbc ctr gcm].map { |mode| "aes-#{bits}-#{mode}" } }
    end

    def initialize(name)
      plain = name.downcase
      unless Cipher.ciphers.include?(plain)
        raise RuntimeError, "unsupported cipher algorithm (#{name}): there are #{Cipher.ciphers.join(', ')}"
      end
      @name = plain.upcase
      @key_len = plain.split("-")[1].to_i / 8
      @mode = plain[-3, 3]
      # OpenSSL's own name, which `name` returns.
      @name = "id-aes#{@key_len * 8}-GCM" if @mode == "gcm"
      @iv_len = @mode == "gcm" ? 12 : BLOCK
      @padding = true
      reset
    end

    def encrypt = begin_as(true)
    def decrypt = begin_as(false)
    def block_size = @mode == "cbc" ? BLOCK : 1
    def authenticated? = @mode == "gcm"

    # Begins a new message with the same key and initialization vector.
    def reset
      @tag = nil
      begin_message
      self
    end

    def key=(key)
      raise ArgumentError, "key must be #{@key_len} bytes" unless key.bytesize == @key_len
      begin_message
      @key = key.dup
    end

    def iv=(iv)
      raise ArgumentError, "iv must be #{@iv_len} bytes" unless iv.bytesize == @iv_len
      # A tag to be verified may be set before the initialization vector.
      @tag = nil if @encrypts
      begin_message
      @iv = iv.dup
    end

    # Only 12 bytes, as NIST SP 800-38D recommends: the Rust crate takes no other length.
    def iv_len=(length)
      raise CipherError, "the iv of GCM has 12 bytes here" unless authenticated? && length == 12
    end

    def padding=(value)
      @padding = value != 0
    end

    def random_key = self.key = SecureRandom.random_bytes(@key_len)
    def random_iv = self.iv = SecureRandom.random_bytes(@iv_len)
    def auth_data=(data)
      # May be called several times, as in OpenSSL: the parts are joined.
      raise CipherError, "couldn't set additional authenticated data" unless authenticated?
      @data += data
    end

    def auth_tag(length = BLOCK)
      raise CipherError, "retrieving the authentication tag failed" unless @tag && @encrypts && authenticated?
      @tag.byteslice(0, length)
    end

    def auth_tag=(tag)
      raise CipherError, "unable to set GCM tag" unless authenticated? && tag.bytesize == BLOCK
      @tag = tag.dup
    end

    def auth_tag_len=(length)
      raise CipherError, "the tag of GCM has 16 bytes here" unless length == BLOCK
    end

    # CTR and GCM are stateless in Rust: the position in the message is passed. GCM's tag needs the whole text, which is
    # therefore kept until `final`.
    def update(bytes, buffer = nil)
      raise CipherError, "key not set" unless @key
      iv = @iv || "\0" * @iv_len
      out = case @mode
            when "ctr" then FoolsGold::Native.cipher_ctr(@key, iv, @at, bytes)
            when "gcm" then FoolsGold::Native.cipher_gcm(@key, iv, @at, bytes)
            else chain(bytes)
            end
      @at += bytes.bytesize
      @seen << bytes if authenticated?
      buffer ? buffer.replace(out) : out
    end

    def final
      raise CipherError, "key not set" unless @key
      return finish_gcm if authenticated?
      @mode == "cbc" ? finish_cbc : ""
    end

    private

    def begin_message
      @at = 0
      @seen = ""
      @held = ""
      @data = ""
      @chained = nil
    end

    def begin_as(encrypts)
      @encrypts = encrypts
      reset
    end

    def finish_gcm
      iv = @iv || "\0" * @iv_len
      if @encrypts
        @tag = FoolsGold::Native.cipher_seal(@key, iv, @data, @seen)
      elsif !@tag || !FoolsGold::Native.cipher_open(@key, iv, @data, @seen, @tag)
        raise CipherError
      end
      ""
    end

    # Encrypts or decrypts whole blocks. When decrypting, the last block is held back, since it may be padding.
    def chain(bytes)
      @held += bytes
      keep = @held.bytesize % BLOCK
      keep = BLOCK if keep == 0 && !@encrypts && @padding
      take_blocks(@held.bytesize - keep)
    end

    def take_blocks(length)
      return "" if length <= 0
      blocks = @held.byteslice(0, length)
      @held = @held.byteslice(length, @held.bytesize)
      out = FoolsGold::Native.cipher_cbc(@key, @chained || @iv || "\0" * BLOCK, @encrypts, blocks)
      # CBC: the last encrypted block takes the place of the initialization vector for the next one.
      @chained = (@encrypts ? out : blocks).byteslice(-BLOCK, BLOCK)
      out
    end

    def finish_cbc
      if @encrypts && @padding
        # PKCS #7: always at least one byte, whose value is their number.
        count = BLOCK - @held.bytesize % BLOCK
        @held += count.chr * count
      end
      raise CipherError, "wrong final block length" unless @held.bytesize % BLOCK == 0
      return take_blocks(@held.bytesize) if @encrypts || !@padding
      raise CipherError, "wrong final block length" if @held.empty?
      out = take_blocks(BLOCK)
      count = out.getbyte(-1)
      # As in OpenSSL a wrong padding is an error; that the text is genuine only GCM or an HMAC can show.
      padded = count.between?(1, BLOCK) && out.byteslice(-count, count) == count.chr * count
      padded ? out.byteslice(0, BLOCK - count) : raise(CipherError, "bad decrypt")
    end

    # The names of an older interface: AES.new(256, :CBC) and AES256.new(:CBC).
    AES = Class.new(self) { define_method(:initialize) { |*parts| super(["aes", *parts].join("-")) } }
    %w[128 192 256].each do |bits|
      made = Class.new(self) { define_method(:initialize) { |mode = "cbc"| super("aes-#{bits}-#{mode}") } }
      const_set("AES#{bits}", made)
    end
  end
end
