# The part of OpenSSL that sessions and signatures need: Digest, HMAC, Cipher (AES), Random, KDF, and comparison in
# constant time. Public keys and connections are not there, and of certificates only what Net::HTTP needs.

require "digest"

module OpenSSL
  VERSION = "3.2.0".freeze
  OPENSSL_VERSION = "none (RustCrypto)".freeze
  # The version of OpenSSL whose interface this is.
  OPENSSL_VERSION_NUMBER = 0x30000000
  OPENSSL_LIBRARY_VERSION = OPENSSL_VERSION

  class OpenSSLError < StandardError; end
  class HMACError < OpenSSLError; end

  # The constants that settings of a connection name, and its exception.
  module SSL
    VERIFY_NONE = 0
    VERIFY_PEER = 1
    TLS1_VERSION = 769
    TLS1_1_VERSION = 770
    TLS1_2_VERSION = 771
    TLS1_3_VERSION = 772

    class SSLError < OpenSSLError; end
  end

  # Names of the classes of public keys, for code that checks whether a key is one of them.
  module PKey
    class PKeyError < OpenSSLError; end

    class PKey
      def self.new(*)
        raise NotImplementedError, "#{self}: there are no keys of two parts here. #{FoolsGold::HINT}"
      end
      singleton_class.__send__(:alias_method, :generate, :new)
    end

    class RSA < PKey; end
    class DSA < PKey; end
    class DH < PKey; end

    class EC < PKey
      class Point; end
      class Group; end
    end
    class RSAError < PKeyError; end
    class ECError < PKeyError; end
    def self.read(*) = PKey.new
  end

  # Of certificates there is the store alone, for Net::HTTP#cert_store=, which most clients of HTTPS set.
  module X509
    # The certificates that a client trusts: those of the machine, or those of a file.
    class Store
      # True for those of the machine, else the path of the file; nil as long as there are none.
      attr_reader :__trusted

      def set_default_paths
        trust(true)
        nil
      end

      def add_file(path)
        trust(FoolsGold.path(path))
        self
      end

      FoolsGold.refuse(self, %i[add_path add_cert add_crl verify], "OpenSSL::X509::Store#")

      private

      def trust(what)
        @__trusted ||= what
        raise NotImplementedError, "OpenSSL::X509::Store of two sources: #{FoolsGold::HINT}" if @__trusted != what
      end
    end
  end

  class << self
    # Compares in constant time. The lengths are no secret and must be equal.
    def fixed_length_secure_compare(left, right)
      unless left.bytesize == right.bytesize
        raise ArgumentError, "inputs must be of equal length"
      end
      FoolsGold::Native.secure_equal(left, right)
    end

    # Compares texts of any length in constant time, by their digests.
    def secure_compare(left, right)
      fixed_length_secure_compare(Digest::SHA256.digest(left), Digest::SHA256.digest(right)) && left == right
    end

    def Digest(name) = Digest.const_get(name)
  end

  class Digest < ::Digest::Class
    include FoolsGold::Hashing

    class DigestError < OpenSSLError; end

    NAMES = %w[MD5 SHA1 SHA224 SHA256 SHA384 SHA512].freeze
    attr_reader :algorithm
    alias name algorithm

    # The name in Rust of a digest, given by a name in any spelling or by another digest.
    def self.algorithm(name)
      return name.algorithm if name.respond_to?(:algorithm)
      plain = name.to_s.upcase.delete("-")
      plain = plain.sub("SHA2", "SHA") if plain.size == 7 && plain.start_with?("SHA2")
      return plain if NAMES.include?(plain)
      raise RuntimeError, "Unsupported digest algorithm (#{name}).: unknown object name"
    end

    def self.digest(name, text) = FoolsGold::Native.digest(algorithm(name), nil, text)
    def self.hexdigest(name, text) = FoolsGold::Native.digest_hex(algorithm(name), nil, text)
    def self.base64digest(name, text) = [digest(name, text)].pack("m0")

    def initialize(name, text = nil)
      @algorithm = Digest.algorithm(name)
      update(text) if text
    end

    NAMES.each do |name|
      made = ::Class.new(self) { define_method(:initialize) { |text = nil| super(name, text) } }
      %i[digest hexdigest base64digest].each do |kind|
        made.define_singleton_method(kind) { |text| Digest.__send__(kind, name, text) }
      end
      const_set(name, made)
    end
  end

  # Message authentication codes (RFC 2104).
  class HMAC
    class << self
      def digest(name, key, text) = FoolsGold::Native.hmac(Digest.algorithm(name), key, text)
      def hexdigest(name, key, text) = FoolsGold::Native.hmac_hex(Digest.algorithm(name), key, text)
      def base64digest(name, key, text) = [digest(name, key, text)].pack("m0")
    end

    def initialize(key, name)
      @key = key
      @algorithm = Digest.algorithm(name)
      @text = ""
    end

    def update(text)
      @text << text
      self
    end
    alias << update

    def reset
      @text = ""
      self
    end

    def digest = HMAC.digest(@algorithm, @key, @text)
    def hexdigest = HMAC.hexdigest(@algorithm, @key, @text)
    alias to_s hexdigest
    alias inspect hexdigest
    def base64digest = [digest].pack("m0")
    def ==(other) = other.is_a?(HMAC) && OpenSSL.secure_compare(digest, other.digest)

    def initialize_copy(other)
      super
      @text = @text.dup
    end
  end

  module Random
    def self.random_bytes(count) = SecureRandom.random_bytes(count)
    def self.pseudo_bytes(count) = SecureRandom.random_bytes(count)
    def self.status? = true
  end

  module KDF
    class KDFError < OpenSSLError; end

    def self.pbkdf2_hmac(password, salt:, iterations:, length:, hash:)
      FoolsGold::Native.pbkdf2(Digest.algorithm(hash), password, salt, iterations, length)
    end

    # HKDF: RFC 5869.
    def self.hkdf(secret, salt:, info:, length:, hash:)
      key = HMAC.digest(hash, salt, secret)
      raise KDFError, "EVP_PKEY_derive" if length > 255 * key.bytesize
      made = block = ""
      number = 0
      made += block = HMAC.digest(hash, key, "#{block}#{info}#{(number += 1).chr}") while made.bytesize < length
      made.byteslice(0, length)
    end
  end

  module PKCS5
    def self.pbkdf2_hmac(password, salt, iterations, length, digest)
      KDF.pbkdf2_hmac(password, salt: salt, iterations: iterations, length: length, hash: digest)
    end

    def self.pbkdf2_hmac_sha1(password, salt, iterations, length)
      pbkdf2_hmac(password, salt, iterations, length, "SHA1")
    end
  end

  FoolsGold.wait_for(self, :Cipher, "foolsgold/openssl/cipher")
end
