# DidYouMean for libraries that use it: its checkers are files of Ruby's own library. Error messages have no
# suggestions.

module DidYouMean
  VERSION = "1.6.3".freeze

  class << self
    attr_writer :formatter

    def formatter = @formatter || Formatter
    def spell_checkers = {}
    def correct_error(*) = nil
  end
end

require "did_you_mean/formatter"
require "did_you_mean/levenshtein"
require "did_you_mean/jaro_winkler"
require "did_you_mean/spell_checker"
require "did_you_mean/core_ext/name_error"
