# Base64, by way of pack.

module Base64
  module_function

  def encode64(bytes) = [bytes].pack("m")
  def decode64(text) = text.unpack("m").first
  def strict_encode64(bytes) = [bytes].pack("m0")

  def strict_decode64(text)
    decoded = text.unpack("m").first
    raise ArgumentError, "invalid base64" unless strict_encode64(decoded) == text
    decoded
  end

  def urlsafe_encode64(bytes, padding: true)
    text = strict_encode64(bytes).tr("+/", "-_")
    padding ? text : text.delete("=")
  end

  def urlsafe_decode64(text)
    text = text.tr("-_", "+/")
    text += "=" * (-text.size % 4) unless text.end_with?("=")
    strict_decode64(text)
  end
end
