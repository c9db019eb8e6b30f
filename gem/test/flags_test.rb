# frozen_string_literal: true

# Options of rackup, Rails and Sinatra, as arguments of the program.

require "foolsgold/flags"

class FlagsTest < Minitest::Test
  RUBY = ["--engine", "ruby", "--ruby", RbConfig.ruby].freeze

  def flags(options, variables = {}, app = nil)
    names = %w[FOOLS_GOLD_ENGINE FOOLS_GOLD_RUBY FOOLS_GOLD_BIND FOOLS_GOLD_ENVIRONMENT]
    names += %w[APP_ENV RACK_ENV RAILS_ENV HANAMI_ENV]
    kept = names.map { |name| [name, ENV[name]] }.to_h
    names.each { |name| ENV[name] = variables[name] }
    FoolsGold::Flags.new(app, options).to_a
  ensure
    kept.each { |name, value| ENV[name] = value }
  end

  def test_what_rackup_says
    options = { environment: "production", Port: "9292", Host: "localhost", AccessLog: [], config: "/a/config.ru" }
    wanted = RUBY + %w[--host localhost --port 9292 --environment production]
    assert_equal wanted, flags(options)
  end

  def test_sizes_as_other_servers_write_them
    assert_equal RUBY + %w[--threads 0:5 --workers 2], flags({ Threads: " 0:5", workers: 2 })
  end

  def test_sockets_and_whole_addresses
    assert_equal RUBY + ["--bind", "unix:///run/a.sock"], flags({ Host: "/run/a.sock", Port: 9292 })
    assert_equal RUBY + ["--bind", "unix://@shop"], flags({ Host: "@shop", Port: 9292 })
    assert_equal RUBY + ["--bind", "tcp://[::1]:80"], flags({ Host: "tcp://[::1]:80", Port: 9292 })
  end

  def variables(options)
    FoolsGold::Flags.new(nil, options).variables
  end

  def test_a_default_address_gives_way_to_files_and_variables
    options = { Host: "localhost", Port: 3000, user_supplied_options: [:environment] }
    assert_equal RUBY, flags(options)
    assert_equal({ "FOOLSGOLD_DEFAULT_HOST" => "localhost", "FOOLSGOLD_DEFAULT_PORT" => "3000" }, variables(options))
    given = options.merge(user_supplied_options: [:Port])
    assert_equal RUBY + %w[--host localhost --port 3000], flags(given, { "FOOLS_GOLD_BIND" => "tcp://127.0.0.1:1" })
    assert_equal [nil, nil], variables(given).values
    assert_equal [nil, nil], variables({ Host: "localhost", Port: 9292 }).values
  end

  def test_another_engine_or_ruby
    assert_equal %w[--engine ruby], flags({}, { "FOOLS_GOLD_RUBY" => "jruby" })
    assert_empty flags({}, { "FOOLS_GOLD_ENGINE" => "mruby" })
  end

  def test_the_environment_that_the_application_has_chosen
    app = Struct.new(:environment).new(:staging)
    assert_equal RUBY + %w[--environment staging], flags({ environment: "development" }, {}, app)
    variables = { "APP_ENV" => "test" }
    assert_equal RUBY + %w[--environment test], flags({ environment: "development" }, variables)
    variables = { "HANAMI_ENV" => "production" }
    assert_equal RUBY + %w[--environment production], flags({ environment: "development" }, variables)
    variables = { "HANAMI_ENV" => "development" }
    assert_equal RUBY + %w[--environment production], flags({ environment: "production" }, variables)
  end

  # The server has the same default, and then sets RACK_ENV alone, as Puma does.
  def test_the_default_environment_of_sinatra_is_not_passed_on
    app = Struct.new(:environment).new(:development)
    assert_equal RUBY, flags({}, {}, app)
    named = RUBY + %w[--environment development]
    assert_equal named, flags({ environment: "development" }, {}, app)
    assert_equal named, flags({}, { "RACK_ENV" => "development" }, app)
    assert_equal named, flags({}, { "FOOLS_GOLD_ENVIRONMENT" => "production" }, app)
  end

  # `Hanami.app`: there the method needs a name and a block.
  def test_a_method_of_that_name_that_tells_no_environment
    app = Object.new
    app.define_singleton_method(:environment) { |_name| raise "called" }
    assert_equal RUBY + %w[--environment production], flags({ environment: "production" }, {}, app)
  end

  def test_the_early_hints_of_rails
    assert_equal RUBY + %w[--early-hints], flags({ early_hints: true })
    assert_equal RUBY, flags({ early_hints: nil })
  end

  def test_how_much_is_logged
    assert_equal RUBY + %w[--log warn --access-log off], flags({ Silent: true })
    assert_equal RUBY + %w[--access-log off], flags({ quiet: true })
    assert_equal RUBY + %w[--log debug], flags({ Verbose: "true", Silent: "false" })
  end
end
