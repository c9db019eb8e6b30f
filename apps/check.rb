# Checks the answers of an application of this folder, whatever server it runs on.
#   ruby apps/check.rb APP URL [--clients N] [--rounds N] [--strict]
# APP is prime-sums, arena, rails-posts or rails-small. Each of the clients (1) makes all checks, as often as there are
# rounds (1), on a connection of its own. Parts that a machine lacks (a gem, the upstream) and that say so well are only
# noted; --strict wants them.
# Exit code 0: all as it should be; 1: what was wrong is on standard error, the first of each kind.

require "optparse"
require_relative "check/client"

CHECKS = {
  "prime-sums" => %w[prime_sums PrimeSums], "arena" => %w[arena Arena],
  "rails-posts" => %w[rails_posts RailsPosts], "rails-small" => %w[rails_small RailsSmall]
}.freeze

# A count from the command line.
def count(words)
  number = Integer(words, 10, exception: false)
  raise OptionParser::InvalidArgument, "give a number from 1 to 1000" unless (1..1000).cover?(number)
  number
end

def options(arguments)
  chosen = { clients: 1, rounds: 1, strict: false }
  parser = OptionParser.new("usage: ruby apps/check.rb APP URL [options], APP one of #{CHECKS.keys.join(", ")}")
  parser.on("--clients N", "clients at the same time (1)") { |words| chosen[:clients] = count(words) }
  parser.on("--rounds N", "how often each makes all checks (1)") { |words| chosen[:rounds] = count(words) }
  parser.on("--strict", "what a machine lacks is wrong, too") { chosen[:strict] = true }
  app, url, *more = parser.parse(arguments)
  abort parser.help unless CHECKS.key?(app) && url&.start_with?("http://") && more.empty?
  chosen.merge(app: app, url: url)
rescue OptionParser::ParseError => error
  abort "check.rb: #{error.message}"
end

# What one client finds: [wrong, notes, number of requests].
def run(check, chosen, number)
  client = Check::Client.new(chosen[:url])
  chosen[:rounds].times { |round| check.new(client, "#{number}-#{round}").run }
  [client.wrong, client.notes, client.requests]
rescue StandardError => error
  [client.wrong + ["no answer: #{error.class}: #{error.message}"], client.notes, client.requests]
ensure
  client&.close
end

chosen = options(ARGV)
file, name = CHECKS.fetch(chosen[:app])
require_relative "check/#{file}"
check = Check.const_get(name)
found = Array.new(chosen[:clients]) { |number| Thread.new { run(check, chosen, number) } }.map(&:value)
wrong, notes, requests = found.transpose
notes = notes.flatten.uniq
wrong = wrong.flatten + (chosen[:strict] ? notes : [])
notes.each { |note| puts "note: #{note}" }
wrong.tally.first(20).each { |words, times| warn "wrong: #{words}#{" (#{times} times)" if times > 1}" }
abort "#{chosen[:app]}: #{wrong.size} wrong in #{requests.sum} requests" unless wrong.empty?
puts "#{chosen[:app]}: right, #{requests.sum} requests by #{chosen[:clients]} client(s)"
