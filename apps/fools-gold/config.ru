# The application of FoolsGold on its own embedded interpreter:  foolsgold apps/fools-gold/config.ru
# The id of the request and the one counter that all interpreters share come from Rust, in `fools_gold.context`.

require_relative "page"

CONTEXT = "fools_gold.context".freeze

run FoolsGoldPage.new(lambda { |env|
  context = env[CONTEXT]
  [context.id, context.requests.increment]
})
