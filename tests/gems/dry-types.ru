# gems: dry-types dry-core dry-logic dry-inflector zeitwerk concurrent-ruby/lib/concurrent-ruby
# ask: / /params /errors
require "dry-types"

module Types
  include Dry.Types()
  Email = String.constrained(format: /@/)
  User = Hash.schema(name: Strict::String, age?: Coercible::Integer).with_key_transform(&:to_sym)
  Level = Integer.enum(low: 1, high: 2) rescue Strict::String.enum("low", "high")
end

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/params" then [Types::Params::Bool["off"], Types::Params::Integer["12"],
      Types::Params::Date["2026-01-02"].to_s,
                         Types::Params::Float["1.5"], Types::JSON::Decimal["1.50"].to_s]
    when "/errors" then [(Types::Email["x"] rescue $!.message), (Types::User[{}] rescue $!.class),
      Types::Strict::Integer.try("1").success?]
    else [Types::User["name" => "Ann", "age" => "3"], Types::Array.of(Types::Coercible::Symbol)[%w[a b]],
          Types::Strict::String.optional[nil], Types::Coercible::String.default("x")[],
            (Types::Integer | Types::String)["a"]]
    end
  [200, {}, [found.inspect]]
end)
