# frozen_string_literal: true

# The server, started as users start it: by rackup, by Rails, by Sinatra, by a script.

require_relative "command"

class HandlerTest < Minitest::Test
  include StartsServer

  APPS = File.expand_path("../../apps", __dir__)
  APP = 'run lambda { |_| [200, { "content-type" => "text/plain" }, ["gold in #{ENV["RACK_ENV"]}"]] }'

  def rackup(*arguments)
    [RUBY, "-S", "rackup", "-o", "127.0.0.1", "-p", @port.to_s, *arguments]
  end

  def test_rackup
    write("config.ru", APP)
    assert_equal "gold in development", serve(*rackup("-s", "foolsgold"))
    assert_match(/\b5 threads/, log)
  end

  def test_rackup_with_the_other_name_and_options
    write("config.ru", APP)
    assert_equal "gold in staging", serve(*rackup("-s", "FoolsGold", "-E", "staging", "-O", "Threads=3", "-q"))
    assert_match(/\b3 threads/, log)
  end

  def test_rackup_with_a_line_of_ruby
    assert_equal "gold in development", serve(*rackup("-s", "foolsgold", "-b", APP))
  end

  def test_rackup_with_folders_and_libraries
    write("nugget.rb", "NUGGET = 'found'")
    write("config.ru", "nugget = NUGGET\nrun lambda { |_| [200, {}, [nugget]] }")
    assert_equal "found", serve(*rackup("-s", "foolsgold", "-I", ".", "-r", "nugget"))
  end

  def test_rackup_with_a_library_in_a_folder_with_a_space
    Dir.mkdir(File.join(@folder, "a folder"))
    write("a folder/nugget.rb", "NUGGET = 'found'")
    write("a folder/config.ru", "nugget = NUGGET\nrun lambda { |_| [200, {}, [nugget]] }")
    command = rackup("-s", "foolsgold", "-r", "./nugget.rb")
    assert_equal "found", serve(*command, folder: File.join(@folder, "a folder"))
  end

  # Rack has gone to the folder / by then.
  def test_rackup_in_the_background
    write("nugget.rb", "NUGGET = 'found'")
    write("config.ru", "nugget = NUGGET + Dir.pwd\nrun lambda { |_| [200, {}, [nugget]] }")
    body = serve_in_background(*rackup("-s", "foolsgold", "-I", ".", "-r", "nugget", "-D", "-P", "web.pid"),
      pid_file: "web.pid")
    assert_equal "found#{File.realpath(@folder)}", body
  end

  # They reach the command, whose process id is in the pid file that Rails writes.
  def test_the_restarts_of_puma_are_reloads
    write("word", "first")
    write("config.ru", "word = File.read(File.join(__dir__, 'word'))\n" \
                       "run lambda { |_| [200, { 'content-type' => 'text/plain' }, [word]] }")
    body = serve(*rackup("-s", "foolsgold")) do
      %w[USR1 USR2].each do |name|
        write("word", name)
        Process.kill(name, @pid)
        within { Net::HTTP.get(URI("http://127.0.0.1:#{@port}/")) == name }
      end
    end
    assert_equal "first", body
  end

  def test_sinatra
    write("app.rb", "require 'sinatra'\nset :server, :foolsgold\nget('/') { \"\#{settings.environment} \#{$0}\" }\n")
    body = serve(RUBY, "app.rb", "-o", "127.0.0.1", "-p", @port.to_s, "-e", "production")
    assert_match(/\Aproduction foolsgold\z/, body)
    assert_includes log, "with backup from FoolsGold"
  end

  # As in Puma.
  def test_sinatra_without_an_environment_finds_rack_env_alone
    write("app.rb", <<~'RUBY')
      require 'sinatra'
      set :server, :foolsgold
      get('/') { "#{settings.environment} #{ENV.slice('APP_ENV', 'RACK_ENV', 'RAILS_ENV')}" }
    RUBY
    body = serve(RUBY, "app.rb", "-o", "127.0.0.1", "-p", @port.to_s, variables: { "RAILS_ENV" => nil })
    rack_env_alone = { "RACK_ENV" => "development" }
    assert_equal "development #{rack_env_alone}", body
  end

  def test_sinatra_with_a_folder_that_ruby_was_given
    Dir.mkdir(File.join(@folder, "lib"))
    write("lib/nugget.rb", "NUGGET = 'found'")
    write("app.rb", "require 'nugget'\nrequire 'sinatra'\nset :server, :foolsgold\nget('/') { NUGGET }\n")
    assert_equal "found", serve(RUBY, "-I", "lib", "app.rb", "-o", "127.0.0.1", "-p", @port.to_s)
  end

  def test_sinatra_is_reloaded_by_its_restart_file
    write("word", "first")
    write("app.rb", <<~'RUBY')
      require 'sinatra'
      set :server, :foolsgold
      word = File.read(File.join(__dir__, 'word'))
      get('/') { word }
    RUBY
    body = serve(RUBY, "app.rb", "-o", "127.0.0.1", "-p", @port.to_s) do
      write("word", "second")
      Dir.mkdir(File.join(@folder, "tmp"))
      write("tmp/restart.txt", "")
      within { Net::HTTP.get(URI("http://127.0.0.1:#{@port}/")) == "second" }
    end
    assert_equal "first", body
  end

  # As of a config.ru; that of Puma in the working directory, as there.
  def test_sinatra_has_the_settings_beside_it
    write("app.rb", "require 'sinatra'\nset :server, :foolsgold\nget('/') { 'gold' }\n")
    Dir.mkdir(File.join(@folder, "config"))
    write("config/puma.rb", "threads 4, 4\nport 1\nbefore_thread_start { File.write('started', '') }\n")
    command = [RUBY, "app.rb", "-o", "127.0.0.1", "-p", @port.to_s]
    assert_equal "gold", serve(*command)
    assert_match(/\b4 threads/, log)
    assert File.exist?(File.join(@folder, "started"))
    # In the background, the file that is made for a script would be gone.
    write("foolsgold.toml", "threads = 3\ndaemonize = true\n")
    write("config/foolsgold.rb", "on_worker_boot { File.write('booted', '') }\n")
    assert_equal "gold", serve(*command)
    assert_match(/\b3 threads/, log)
    assert File.exist?(File.join(@folder, "booted"))
  end

  # The server's own handlers are back when the script has been loaded: programs that the application starts would
  # inherit an ignored signal.
  def test_sinatra_leaves_no_signal_ignored
    write("app.rb", <<~'RUBY')
      require 'sinatra'
      set :server, :foolsgold
      get('/') { File.read('/proc/self/status')[/^SigIgn:\s*(\h+)/, 1].to_i(16)[Signal.list['INT'] - 1].to_s }
    RUBY
    assert_equal "0", serve(RUBY, "app.rb", "-o", "127.0.0.1", "-p", @port.to_s)
  end

  def test_sinatra_in_a_class
    write("app.rb", <<~RUBY)
      require "sinatra/base"
      class App < Sinatra::Base
        set :server, "foolsgold"
        get("/") { "a class" }
        run!(bind: "127.0.0.1", port: #{@port}) if app_file == $0
      end
    RUBY
    assert_equal "a class", serve(RUBY, "app.rb")
  end

  def test_a_script_that_starts_a_server_itself
    write("app.rb", <<~RUBY)
      require "rack"
      app = lambda { |_| [200, { "content-type" => "text/plain" }, ["a script"]] }
      begin
        require "rackup"
      rescue LoadError
        Rackup = Rack
      end
      Rackup::Server.start(app: app, server: "foolsgold", Host: "127.0.0.1", Port: #{@port}, pid: "app.pid")
    RUBY
    body = serve(RUBY, "app.rb") { assert_equal @pid.to_s, File.read(File.join(@folder, "app.pid")) }
    assert_equal "a script", body
    refute File.exist?(File.join(@folder, "app.pid"))
  end

  # As `camping` does, whose options name config.ru all the same, since that is Rack's default.
  def test_a_command_with_an_application_of_its_own_beside_a_config_ru
    write("config.ru", APP)
    write("camp", <<~RUBY)
      require "rack"
      begin
        require "rackup"
      rescue LoadError
        Rackup = Rack
      end
      class Camp < Rackup::Server
        def app
          lambda { |_| [200, { "content-type" => "text/plain" }, ["a camp"]] }
        end
      end
      Camp.start
    RUBY
    assert_equal "a camp", serve(RUBY, "camp", "-s", "foolsgold", "-o", "127.0.0.1", "-p", @port.to_s)
  end

  # As programs do that serve a folder: ARGV is empty by then, and the script runs once more in the server.
  def test_a_script_that_takes_its_arguments_and_asks_for_the_default_handler
    write("app.rb", <<~RUBY)
      require "optparse"
      require "rack"
      begin
        require "rackup"
      rescue LoadError
        Rackup = Rack
      end
      given = {}
      OptionParser.new { |parser| %w[-p -w].each { |name| parser.on(name + " VALUE") } }.parse!(into: given)
      app = lambda { |_| [200, { "content-type" => "text/plain" }, [given[:w] + ENV["RACK_HANDLER"].to_s]] }
      Rackup::Handler.default.run(app, Host: "127.0.0.1", Port: given[:p])
    RUBY
    handlers = { "RACKUP_HANDLER" => "foolsgold", "RACK_HANDLER" => "foolsgold" }
    assert_equal "two words", serve(RUBY, "app.rb", "-p", @port.to_s, "-w", "two words", variables: handlers)
  end

  # The folder of a copy of a Rails application.
  def rails_app
    FileUtils.cp_r(File.join(APPS, "rails-small"), @folder)
    File.join(@folder, "rails-small")
  end

  def rails_server
    [RUBY, "bin/rails", "server", "-u", "foolsgold", "-b", "127.0.0.1", "-p", @port.to_s, "-P", "rails.pid"]
  end

  def test_rails
    app = rails_app
    assert_includes serve(*rails_server, path: "/?name=gem", folder: app), "Hello, gem!"
    assert_includes log, "=> Booting FoolsGold"
    assert_includes log, "Started GET \"/?name=gem\"", "the log of Rails is not on the console"
    refute File.exist?(File.join(app, "rails.pid"))
  end

  def test_rails_in_the_background
    command = [*rails_server, "-d"]
    body = serve_in_background(*command, pid_file: "rails.pid", path: "/?name=gem", folder: rails_app)
    assert_includes body, "Hello, gem!"
  end

  # As in Puma: Rails's own default address counts less than that of the file. The log of Rails on the console takes no
  # hook of the file away.
  def test_rails_with_an_address_and_hooks_in_its_configuration_of_puma
    app = rails_app
    File.write(File.join(app, "config/puma.rb"), <<~RUBY)
      bind 'tcp://127.0.0.1:#{@port}'
      before_thread_start { File.write(File.join(__dir__, "started"), ENV.keys.grep(/FOOLSGOLD_/).inspect) }
    RUBY
    command = [RUBY, "bin/rails", "server", "-u", "foolsgold", "-P", "rails.pid"]
    nobodys = { "PORT" => nil, "HOST" => nil, "BINDING" => nil }
    assert_includes serve(*command, path: "/?name=gem", folder: app, variables: nobodys), "Hello, gem!"
    assert_equal "[]", File.read(File.join(app, "config/started"))
    assert_includes log, "Started GET \"/?name=gem\""
  end

  # The death of a command with several threads is one: a second TERM would cut off running requests.
  def test_the_server_of_a_command_that_is_killed_ends
    write("config.ru", APP)
    write("threads.rb", "3.times { Thread.new { sleep } }")
    output = File.join(@folder, "log")
    variables = VARIABLES.merge("RUBYOPT" => "-r#{File.join(@folder, 'threads.rb')}")
    @pid = Process.spawn(variables, *rackup("-s", "foolsgold"), chdir: @folder, %i[out err] => output)
    within { Net::HTTP.get(URI("http://127.0.0.1:#{@port}/")) }
    Process.kill("KILL", @pid)
    Process.wait(@pid)
    @pid = nil
    within { refused? }
    within { File.read(output).include?(" served; ") }
    assert_equal 1, File.read(output).scan("SIGTERM").size
  end

  def refused?
    TCPSocket.new("127.0.0.1", @port).close
    false
  rescue Errno::ECONNREFUSED
    true
  end

  def test_without_a_file_it_says_what_to_write
    code = "require 'rack'; #{HANDLER}.run(->(_) {}, Port: #{@port})"
    said, status = Open3.capture2e({ "RUBYLIB" => LIB }, RUBY, "-e", code, chdir: @folder)
    assert_equal 1, status.exitstatus
    assert_match(/\Afoolsgold: there is no file .*: write a config.ru\Z/, said)
  end

  def test_the_status_of_the_server_is_that_of_the_command
    write("config.ru", APP)
    said, status = Open3.capture2e({ "RUBYLIB" => LIB }, *rackup("-s", "foolsgold", "-O", "Port=x"), chdir: @folder)
    assert_equal 2, status.exitstatus, said
  end

  # What loads the handler, for either Rack.
  HANDLER = "(begin; require 'rackup/handler'; Rackup; rescue LoadError; require 'rack/handler'; Rack; end)" \
            "::Handler.get('foolsgold')"
end
