# frozen_string_literal: true

# Runs all tests of the native worker: `ruby crates/engine-ruby/native_test/all.rb` takes the one that bin/setup has
# built for the Ruby that runs this, or builds it there. TEST_NATIVE names another one.

require_relative "support"
$stdout.sync = true
%w[requests answers waiting fuzz].each { |name| require_relative "#{name}_test" }
puts "#{Harness.count} tests, #{Harness.failures.size} failed"
exit Harness.failures.empty?
