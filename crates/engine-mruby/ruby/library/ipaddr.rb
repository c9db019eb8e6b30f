# IPAddr: addresses and networks of IPv4 and IPv6, as text and as numbers.

class IPAddr
  include Comparable

  class Error < ArgumentError; end
  class InvalidAddressError < Error; end
  class AddressFamilyError < Error; end
  class InvalidPrefixError < InvalidAddressError; end

  # The values of Socket::AF_INET and AF_INET6; Socket itself is not there.
  INET = 2
  INET6 = 10
  BITS = { INET => 32, INET6 => 128 }.freeze
  LOOPBACK = { INET => %w[127.0.0.0/8], INET6 => %w[::1] }.freeze
  PRIVATE = { INET => %w[10.0.0.0/8 172.16.0.0/12 192.168.0.0/16], INET6 => %w[fc00::/7] }.freeze
  LINK_LOCAL = { INET => %w[169.254.0.0/16], INET6 => %w[fe80::/10] }.freeze

  attr_reader :family, :prefix

  # An address from bytes in network order.
  def self.new_ntoh(bytes) = new(ntop(bytes))

  def self.ntop(bytes)
    case bytes.bytesize
    when 4 then bytes.unpack("C4").join(".")
    when 16 then bytes.unpack("n8").map { |group| group.to_s(16).rjust(4, "0") }.join(":")
    else raise AddressFamilyError, "unsupported address family"
    end
  end

  # An address from a text such as "10.0.0.0/8" or "[::1]", or from a number and its family.
  def initialize(address = "::", family = 0)
    unless address.is_a?(String)
      raise AddressFamilyError, "address family must be specified" if family == 0
      bits = BITS.fetch(family) { raise AddressFamilyError, "unsupported address family: #{family}" }
      return take(address.to_i, family, bits)
    end
    @text = address
    plain, prefix = @text.split("/", 2)
    plain, zone = plain.to_s.delete_prefix("[").delete_suffix("]").split("%", 2)
    plain = plain.to_s
    six = plain.include?(":")
    @zone_id = "%#{zone}" if zone
    number = six ? number_of_six(plain) : number_of_four(plain)
    family = six ? INET6 : INET
    take(number, family, prefix ? bits_of(prefix, family) : BITS[family])
  end

  def prefix=(length)
    raise InvalidPrefixError, "prefix must be an integer: #{@number}" unless length.is_a?(Integer)
    raise InvalidPrefixError, "invalid length: #{@number}" unless length.between?(0, bits)
    take(@number, family, length)
  end

  # The interface of an address of IPv6, with a "%" before it.
  def zone_id
    raise InvalidAddressError, "not an IPv6 address" unless ipv6?
    @zone_id
  end

  def zone_id=(zone)
    raise InvalidAddressError, "not an IPv6 address" unless ipv6?
    raise InvalidAddressError, "invalid zone identifier for address" unless zone.nil? || /\A%\w+\z/.match?(zone)
    @zone_id = zone
  end

  def ipv4? = family == INET
  def ipv6? = family == INET6
  def to_i = @number
  def mask(prefix) = IPAddr.new("#{self}/#{prefix}")
  def hash = [family, @number, prefix].hash
  def to_range = (with(@number)..with(@number | ((1 << (bits - prefix)) - 1)))
  def succ = moved(@number + 1)
  def |(other) = moved(@number | number_of(other))
  def &(other) = moved(@number & number_of(other))
  def <<(count) = moved((@number << count) & all)
  def >>(count) = moved(@number >> count)
  def ~ = moved(~@number & all)
  def ipv4_mapped? = ipv6? && @number >> 32 == 0xffff
  def native = ipv4_mapped? || ipv4_compat? ? IPAddr.new(@number & 0xffffffff, INET) : self
  def ipv4_mapped = ipv4? ? with(@number | 0xffff00000000, INET6).tap { |six| six.prefix = prefix + 96 } : invalid!
  def ipv4_compat? = ipv6? && @number >> 32 == 0 && @number > 1
  def netmask = with(all - rest).to_string
  def hton = ipv4? ? [@number].pack("N") : groups.pack("n8")
  def reverse = ipv4? ? "#{to_s.split(".").reverse.join(".")}.in-addr.arpa" : ip6_arpa
  def ip6_arpa = ipv6? ? "#{digits}.ip6.arpa" : invalid!
  def ip6_int = ipv6? ? "#{digits}.ip6.int" : invalid!
  def loopback? = within?(LOOPBACK)
  def private? = within?(PRIVATE)
  def link_local? = within?(LINK_LOCAL)
  def to_string = ipv4? ? to_s : "#{groups.map { |group| group.to_s(16).rjust(4, "0") }.join(":")}#{@zone_id}"
  def inspect = "#<IPAddr: #{ipv4? ? 'IPv4' : 'IPv6'}:#{to_string}/#{netmask}>"

  def include?(other)
    other = address_of(other)
    family == other.family && @number == other.to_i - (other.to_i & rest) && other.prefix >= prefix
  end
  alias === include?

  def ==(other)
    other = address_of(other)
    family == other.family && @number == other.to_i
  rescue StandardError
    false
  end

  def eql?(other) = other.is_a?(IPAddr) && hash == other.hash

  def <=>(other)
    other = address_of(other)
    family == other.family ? @number <=> other.to_i : nil
  rescue StandardError
    nil
  end

  # The text of the address; in IPv6 the longest run of zero groups becomes "::", and an address that has one of IPv4
  # at its end is written with that.
  def to_s
    return "::#{'ffff:' if ipv4_mapped?}#{with(@number & 0xffffffff, INET)}#{@zone_id}" if holds_ipv4?
    return 3.downto(0).map { |byte| (@number >> (8 * byte)) & 255 }.join(".") if ipv4?
    text = groups.map { |group| group.to_s(16) }.join(":")
    run = nil
    text.scan(/\b0(?::0\b)+/) { run = $~ if run.nil? || $~[0].size > run[0].size }
    return "#{text}#{@zone_id}" unless run
    "#{run.pre_match.delete_suffix(':')}::#{run.post_match.delete_prefix(':')}#{@zone_id}"
  end

  private

  def bits = BITS[family]
  def rest = (1 << (bits - prefix)) - 1
  def all = (1 << bits) - 1
  def digits = @number.to_s(16).rjust(32, "0").reverse.chars.join(".")
  def number_of(other) = other.is_a?(Integer) ? other : IPAddr.new(other.to_s).to_i
  def groups = 7.downto(0).map { |group| (@number >> (16 * group)) & 0xffff }
  def with(number, family = self.family) = IPAddr.new(number, family)
  def address_of(other) = other.is_a?(IPAddr) ? other : IPAddr.new(other, other.is_a?(String) ? 0 : family)
  def holds_ipv4? = ipv4_mapped? || (ipv6? && @number >> 32 == 0 && @number >= 0x10000)

  # An address of IPv4 that is mapped into IPv6 belongs to the networks of either family.
  def within?(networks)
    return true if networks[family].any? { |network| IPAddr.new(network).include?(self) }
    ipv4_mapped? && native.__send__(:within?, networks)
  end

  # An address of the same family and prefix with another number.
  def moved(number)
    raise InvalidAddressError, "invalid address: #{number}" if number < 0 || number > all
    clone.tap { |address| address.instance_variable_set(:@number, number) }
  end

  def take(number, family, prefix)
    raise InvalidAddressError, "invalid address: #{number}" if number < 0 || number >> BITS[family] > 0
    @family = family
    @prefix = prefix
    @number = number >> (bits - prefix) << (bits - prefix)
  end

  def invalid!(error = InvalidAddressError)
    raise error, "invalid #{error == InvalidPrefixError ? 'prefix' : 'address'}: #{@text || self}"
  end

  def number_of_four(text)
    parts = text.split(".", -1)
    right = parts.size == 4 && parts.all? { |part| part.match?(/\A(0|[1-9]\d{0,2})\z/) && part.to_i < 256 }
    right ? parts.inject(0) { |number, part| number << 8 | part.to_i } : invalid!
  end

  def number_of_six(text)
    if (four = text[/[\d.]+\z/]) && four.include?(".")
      number = number_of_four(four)
      text = text.delete_suffix(four) + "#{(number >> 16).to_s(16)}:#{(number & 0xffff).to_s(16)}"
    end
    left, right = text.split("::", 2).map { |side| side.split(":", -1) }
    invalid! if text.scan("::").size > 1
    all = right ? left + ["0"] * [8 - left.size - right.size, 0].max + right : left
    invalid! unless all.size == 8 && all.all? { |group| group.match?(/\A\h{1,4}\z/) }
    all.inject(0) { |sum, group| sum << 16 | group.hex }
  end

  # The length of a prefix, given as a number or as a mask in the form of an address.
  def bits_of(prefix, family)
    return prefix.to_i if prefix.match?(/\A(?:0|[1-9]\d*)\z/) && prefix.to_i <= BITS[family]
    invalid!(InvalidPrefixError) if prefix.match?(/\A\d+\z/)
    mask = family == INET ? number_of_four(prefix) : number_of_six(prefix)
    length = mask.to_s(2).delete_suffix("0" * BITS[family])[/\A1*/].size
    mask == ((1 << length) - 1) << (BITS[family] - length) ? length : invalid!(InvalidPrefixError)
  end
end
