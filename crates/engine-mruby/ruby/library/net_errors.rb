# Exceptions of networks, under the names of Ruby's library.

class SocketError < StandardError; end unless Object.const_defined?(:SocketError)

# mruby creates these classes on first use, and Rust raises them by name.
[Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::ECONNABORTED, Errno::EPIPE, Errno::EHOSTUNREACH, Errno::ENETUNREACH]

FoolsGold::Loader.library("timeout")
FoolsGold::Loader.library("openssl")
FoolsGold::Loader.require("uri")

module OpenSSL
  module SSL
    VERIFY_NONE = 0
    VERIFY_PEER = 1
    TLS1_2_VERSION = 771
    TLS1_3_VERSION = 772

    class SSLError < StandardError; end
  end
end

module Net
  class ProtocolError < StandardError; end
  class ProtoSyntaxError < ProtocolError; end
  class OpenTimeout < Timeout::Error; end
  class ReadTimeout < Timeout::Error; end
  class WriteTimeout < Timeout::Error; end
  class HTTPBadResponse < StandardError; end
  class HTTPHeaderSyntaxError < StandardError; end

  # Raised by HTTPResponse#value.
  module HTTPExceptions
    attr_reader :response

    def initialize(message, response)
      super(message)
      @response = response
    end
  end

  class HTTPError < ProtocolError
    include HTTPExceptions
  end

  class HTTPRetriableError < ProtocolError
    include HTTPExceptions
  end

  class HTTPClientException < ProtocolError
    include HTTPExceptions
  end
  HTTPServerException = HTTPClientException

  class HTTPFatalError < ProtocolError
    include HTTPExceptions
  end
end
