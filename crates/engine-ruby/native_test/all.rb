# frozen_string_literal: true

# Runs all tests of the native worker: `ruby crates/engine-ruby/native_test/all.rb` builds it for the Ruby that runs
# this, into a folder that is removed at the end. TEST_NATIVE names one that is built already.

require_relative "support"
$stdout.sync = true
%w[requests answers waiting fuzz].each { |name| require_relative "#{name}_test" }
puts "#{Harness.count} tests, #{Harness.failures.size} failed"
exit Harness.failures.empty?
