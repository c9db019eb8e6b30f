# frozen_string_literal: true

# Rails's log on the console, where a gem has replaced it. handler_test.rb has that of Rails itself.

require "open3"

class RailsLogTest < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)
  # Versions of the gem that know no server but that of Rails.
  SEMANTIC = <<~RUBY
    module RailsSemanticLogger; end
    module SemanticLogger
      @appenders = []
      class << self
        attr_reader :appenders
        def add_appender(io:, formatter:)
          print io.fileno, " in ", formatter
        end
      end
    end
  RUBY

  def to_console(gems)
    code = "#{gems}\nrequire 'foolsgold/railslog'\nFoolsGold::RailsLog.to_console"
    said, status = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-e", code)
    assert status.success?, said
    said
  end

  def test_that_of_rails_semantic_logger
    assert_equal "1 in color", to_console(SEMANTIC)
  end

  def test_that_of_rails_semantic_logger_which_is_there_already
    assert_equal "", to_console("#{SEMANTIC}\ndef (SemanticLogger.appenders).console_output?; true; end")
  end

  def test_that_of_rails_semantic_logger_as_its_configuration_says
    assert_equal "declared", to_console(<<~RUBY)
      module RailsSemanticLogger
        def self.add_server_appenders
          print "declared"
        end
      end
    RUBY
  end
end
