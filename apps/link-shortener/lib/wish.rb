# What somebody wishes for a new link, in a form or as JSON: checked.

require_relative "address"

class Wish
  class Bad < StandardError; end

  CODE = /\A[a-z0-9][a-z0-9-]{2,39}\z/i
  DAYS_MAX = 3650
  # Paths of the service itself.
  RESERVED = %w[api links public].freeze

  attr_reader :url, :code, :days

  def initialize(given, own)
    @url = Address.check(given["url"], own)
    @code = code_of(given["code"].to_s.strip)
    @days = days_of(given["days"].to_s.strip)
  end

  private

  def code_of(text)
    return nil if text.empty?
    raise Bad, "A code has 3 to 40 letters, digits and dashes." unless CODE.match?(text)
    raise Bad, "The code #{text} is one of the service's own." if RESERVED.include?(text.downcase)
    text
  end

  def days_of(text)
    return nil if text.empty?
    days = text.match?(/\A\d{1,4}\z/) ? text.to_i : 0
    raise Bad, "A link ends after 1 to #{DAYS_MAX} days." unless days.between?(1, DAYS_MAX)
    days
  end
end
