# gems: dry-inflector
# ask: / /own
require "dry/inflector"

WORDS = %w[person octopus quiz user_account HTMLParser dry/inflector blog_post sheep matrix].freeze
OWN = Dry::Inflector.new do |rules|
  rules.plural "virus", "viruses"
  rules.acronym "API"
  rules.uncountable "money"
end

run(lambda do |env|
  inflector = env["PATH_INFO"] == "/own" ? OWN : Dry::Inflector.new
  steps = %i[pluralize singularize camelize underscore dasherize demodulize humanize tableize classify foreign_key
             ordinalize]
  lines = (WORDS + %w[virus api_money money]).map do |word|
    steps.map { |step| step == :ordinalize ? inflector.ordinalize(word.size) : inflector.public_send(step,
      word) }.join(" ")
  end
  [200, {}, [lines.join("\n")]]
end)
