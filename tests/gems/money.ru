# gems: money i18n concurrent-ruby/lib/concurrent-ruby
# ask: / /arithmetic /exchange
require "money"

Money.locale_backend = nil
Money.rounding_mode = BigDecimal::ROUND_HALF_EVEN
Money.default_currency = Money::Currency.new("EUR")
BANK = Money::Bank::VariableExchange.new.tap { |bank| bank.add_rate("USD", "EUR", 0.5) }

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/arithmetic"
      [Money.new(1000).allocate([1, 1, 1]).map(&:cents), (Money.new(100) * 1.255).cents,
        Money.new(100, "USD") == Money.new(100),
       [Money.new(3), Money.new(1)].sum.format, Money.from_amount(12.345).cents, Money.new(-5).abs.to_s]
    when "/exchange" then [BANK.exchange_with(Money.new(301, "USD"), "EUR").to_s,
      (BANK.exchange_with(Money.new(1, "GBP"), "EUR") rescue $!.message)]
    else [Money.new(123_456_789, "USD").format, Money.new(1, "JPY").format, Money::Currency.new("CHF").name,
          Money.new(1050).to_s, Money.from_cents(99).inspect]
    end
  [200, {}, [found.inspect]]
end)
