# Digest: MD5, SHA1 and SHA2 by Rust (ruby-stdlib/src/digest.rs), and the frame for digests of an application's own.

module FoolsGold
  # A digest in Rust, for any class with `algorithm`, the name there. It keeps the state of its hash as a String.
  module Hashing
    def update(text)
      @__state = Native.digest_update(algorithm, @__state, text)
      self
    end
    alias << update

    def file(path)
      path = path.to_path if path.respond_to?(:to_path)
      @__state = Native.digest_file(algorithm, @__state, path)
      self
    end

    def reset
      @__state = nil
      self
    end

    # Without a text there is no need of a copy: `finish` changes nothing.
    def digest(*text) = text.empty? ? finish : super
    def block_length = %w[SHA384 SHA512].include?(algorithm) ? 128 : 64

    private

    def finish = Native.digest(algorithm, @__state, "")
  end
end

module Digest
  # Methods of all digests. A class defines `update`, `<<`, `reset`, `finish` and `block_length`.
  module Instance
    def update(_text) = absent(:update)
    alias << update
    def reset = absent(:reset)
    def block_length = absent(:block_length)

    def file(path)
      File.open(path, "rb") do |file|
        while (part = file.read(16_384))
          update(part)
        end
      end
      self
    end

    # The digest of the text so far; with an argument of that alone, which also resets the digest.
    def digest(text = (none = true))
      return dup.__send__(:finish) if none
      reset
      update(text)
      reset_after(finish)
    end

    def hexdigest(*text) = Digest.hexencode(digest(*text))
    def base64digest(text = nil) = [text ? digest(text) : digest].pack("m0")
    def digest! = reset_after(finish)
    def hexdigest! = Digest.hexencode(digest!)
    def base64digest! = [digest!].pack("m0")
    def to_s = hexdigest
    def new = dup.reset
    def digest_length = digest.bytesize
    def length = digest_length
    def size = digest_length
    def inspect = "#<#{self.class}: #{hexdigest}>"

    # Compares with another digest, or with a text of hexadecimal digits.
    def ==(other)
      return digest == other.digest if other.is_a?(Instance)
      text = other.respond_to?(:to_str) ? other.to_str : nil
      text ? to_s == text : false
    end

    private

    def finish = absent(:finish)

    def absent(name)
      raise RuntimeError, "#{self.class} does not implement #{name}()"
    end

    def reset_after(result)
      reset
      result
    end
  end

  class Class
    include Instance

    class << self
      def digest(text, *args) = new(*args).digest(text)
      def hexdigest(*args) = Digest.hexencode(digest(*args))
      def base64digest(*args) = [digest(*args)].pack("m0")
      def file(path, *args) = new(*args).file(path)
    end
  end

  class Base < Class
    include FoolsGold::Hashing

    class << self
      # The name in Rust, also of a subclass; nil of this class itself.
      def algorithm = @algorithm || (superclass.algorithm unless equal?(Base))

      # Without an object, unless a subclass may have its own methods.
      def digest(text, *args)
        @algorithm && args.empty? ? FoolsGold::Native.digest(@algorithm, nil, text) : super(text, *args)
      end
    end

    def initialize
      raise NotImplementedError, "#{self.class} is an abstract class" unless algorithm
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
    include FoolsGold::Hashing

    attr_reader :algorithm

    def initialize(bits = 256)
      raise ArgumentError, "unsupported bit length: %p" % bits unless [256, 384, 512].include?(bits)
      @algorithm = "SHA#{bits}"
    end

    def inspect = "#<#{self.class}:#{algorithm[3..-1]} #{hexdigest}>"
  end

  def self.hexencode(bytes) = String.new(bytes).unpack1("H*")

  def self.const_missing(name)
    raise LoadError, "library not found for class Digest::#{name} -- digest/#{name.downcase}"
  end
end

def Digest(name) = Digest.const_get(name)
