# The application of the arena: five routes on Sinatra, from a few words to five thousand places of pi.

require_relative "arena"

run Arena
