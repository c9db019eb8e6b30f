# frozen_string_literal: true

# Runs all tests of the Ruby side: `ruby crates/engine-ruby/ruby_test/all.rb`. TEST_RUBY is the Ruby to be tested.

require_relative "harness"
require_relative "front"
$stdout.sync = true
Thread.report_on_exception = true
%w[syntax wire mold database_clients answers bodies hijack control edges globals].each do |name|
  require_relative "#{name}_test"
end
puts "#{Harness.count} tests, #{Harness.failures.size} failed"
exit Harness.failures.empty?
