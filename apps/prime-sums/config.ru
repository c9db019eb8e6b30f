# The sum of the first N primes, twice: /sinatra/N on Sinatra and /roda/N on Roda; ?cache=1 remembers it per process.
# A half whose gem is not installed answers 501 and says which one; the other half works.

# Gems are looked for below, and their absence is forgiven; so these lines have to say that it takes a Ruby with gems
# (where they do nothing). FoolsGold chooses its engine by them.
require "rubygems"
require "rack"

# Answers for a half that cannot be loaded.
missing = lambda { |gem|
  text = "This half needs the gem #{gem}, which this Ruby has not: gem install #{gem}\n"
  lambda { |_env| [501, { Rack::CONTENT_TYPE => "text/plain; charset=utf-8" }, [text]] }
}

# The application of a half; only the gems themselves may be missing, any other mistake is one.
half = lambda { |file, name|
  begin
    require_relative file
    Object.const_get(name).for_rack
  rescue LoadError => error
    gem = { "sinatra/base" => "sinatra", "roda" => "roda", "prime" => "prime" }[error.path]
    gem ? missing.call(gem) : raise
  end
}

map("/sinatra") { run half.call("on_sinatra", :OnSinatra) }
map("/roda") { run half.call("on_roda", :OnRoda) }
