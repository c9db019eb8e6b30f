# frozen_string_literal: true

# Objects that libraries serve beside the application, which the server cannot take.

require "foolsgold/handler"
require "open3"

class RefusalTest < Minitest::Test
  HANDLER = Module.new { extend FoolsGold::Handler }
  LIB = File.expand_path("../lib", __dir__)
  SERVER = File.expand_path("../../crates/engine-ruby/ruby/hooks.rb", __dir__)
  TOLD = /\AFoolsGold loads what it serves from a file such as config.ru.*: give it to another server/

  # Capybara does so, and what serves metrics: the config.ru of the working directory was served in its place.
  def test_an_object_in_a_thread
    thread = Thread.new do
      Thread.current.report_on_exception = false
      HANDLER.run(->(_) {}, Host: "127.0.0.1", Port: 9394)
    end
    assert_match TOLD, assert_raises(RuntimeError) { thread.value }.message
  end

  def test_an_object_in_a_process_of_the_server
    said, status = Open3.capture2e(RbConfig.ruby, "-I", LIB, "-r", SERVER, "-r", "foolsgold/handler", "-e", <<~'RUBY')
      begin
        Module.new { extend FoolsGold::Handler }.run(->(_) {}, Port: 9394)
      rescue RuntimeError => error
        print error.message
      end
    RUBY
    assert status.success?, said
    assert_match TOLD, said
  end

  def test_files_are_served_from_wherever_they_are_named
    Thread.new do
      assert_nil FoolsGold::Handler.refuse_object({ config: "config.ru" })
      assert_nil FoolsGold::Handler.refuse_object({ builder: "run ->(_) {}" })
    end.join
    assert_nil FoolsGold::Handler.refuse_object({ app: ->(_) {} })
  end
end
