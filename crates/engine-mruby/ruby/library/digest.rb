# Digest: MD5, SHA1 and SHA2 by Rust (ruby-stdlib/src/digest.rs). A digest keeps the state of its hash as a String.

module Digest
  # Methods of all digests, for any class with `algorithm`, the name in Rust.
  module Instance
    def update(text)
      @state = FoolsGold::Native.digest_update(algorithm, @state, text)
      self
    end
    alias << update

    def file(path)
      path = path.to_path if path.respond_to?(:to_path)
      @state = FoolsGold::Native.digest_file(algorithm, @state, path)
      self
    end

    def reset
      @state = nil
      self
    end

    # The digest of the text so far; with an argument of that alone, which also resets the digest.
    def digest(text = nil)
      return reset_after(FoolsGold::Native.digest(algorithm, nil, text)) if text
      FoolsGold::Native.digest(algorithm, @state, "")
    end

    def hexdigest(text = nil)
      return reset_after(FoolsGold::Native.digest_hex(algorithm, nil, text)) if text
      FoolsGold::Native.digest_hex(algorithm, @state, "")
    end
    alias to_s hexdigest

    def base64digest(text = nil) = [digest(text)].pack("m0")
    def digest! = reset_after(digest)
    def hexdigest! = reset_after(hexdigest)
    def base64digest! = reset_after(base64digest)
    def new = dup.reset
    def digest_length = digest.bytesize
    alias length digest_length
    alias size digest_length
    def block_length = %w[SHA384 SHA512].include?(algorithm) ? 128 : 64
    def inspect = "#<#{self.class}: #{hexdigest}>"

    # Compares with another digest, or with a text of hexadecimal digits.
    def ==(other)
      return digest == other.digest if other.is_a?(Instance)
      text = other.respond_to?(:to_str) ? other.to_str : nil
      text ? hexdigest == text : false
    end

    private

    def reset_after(result)
      reset
      result
    end
  end

  class Class
    include Instance

    class << self
      def digest(text, *args) = new(*args).digest(text)
      def hexdigest(text, *args) = new(*args).hexdigest(text)
      def base64digest(text, *args) = new(*args).base64digest(text)
      def file(path, *args) = new(*args).file(path)
    end
  end

  class Base < Class
    class << self
      attr_reader :algorithm

      def digest(text) = FoolsGold::Native.digest(algorithm, nil, text)
      def hexdigest(text) = FoolsGold::Native.digest_hex(algorithm, nil, text)
    end

    def algorithm = self.class.algorithm
  end

  %w[MD5 SHA1 SHA256 SHA384 SHA512].each do |name|
    made = ::Class.new(Base)
    made.instance_variable_set(:@algorithm, name)
    const_set(name, made)
  end

  # SHA2 with a given number of bits.
  class SHA2 < Class
    attr_reader :algorithm

    def initialize(bits = 256)
      raise ArgumentError, "unsupported bit length: %p" % bits unless [256, 384, 512].include?(bits)
      @algorithm = "SHA#{bits}"
    end

    def inspect = "#<Digest::SHA2:#{algorithm[3..-1]} #{hexdigest}>"
  end

  def self.hexencode(bytes) = bytes.unpack1("H*")
end

def Digest(name) = Digest.const_get(name)
