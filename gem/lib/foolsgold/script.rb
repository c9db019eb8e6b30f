# frozen_string_literal: true

# In the server's processes: takes an application out of a script that would start a server with it.

module FoolsGold
  # The script runs as it does by itself, up to the point where it hands its application to a handler.
  class Script
    @is_loading = false

    class << self
      attr_accessor :is_loading

      # Called by the handler: the application ends up in `application`, below, and the script goes no further.
      def take(app)
        throw(self, app) if is_loading
      end
    end

    # Prepended to the server of Rack: it does these steps before it calls a handler. The command that runs the server
    # has done them; here they would find the pid file of that command, and end the process.
    module Done
      %i[check_pid! write_pid daemonize_app].each { |name| define_method(name) { nil } }
    end

    # `name`: of the application, if it is a class. `variables`: of the environment, while the script runs.
    def initialize(path, arguments, name, variables = {})
      @path = path
      @arguments = arguments
      @name = name
      @variables = variables
    end

    def application
      server_of_rack&.prepend(Done)
      given = as_program { load_script }
      app = given || (@name && Object.const_get(@name))
      # It would start a server when this process ends.
      ::Sinatra::Application.set(:run, false) if defined?(::Sinatra::Application)
      app || raise(LoadError, "#{@path} gave no application to a server: write a config.ru that runs it")
    end

    private

    # That of the gem rackup since Rack 3.
    def server_of_rack
      return unless defined?(::Rack)

      require "rackup" unless defined?(::Rack::Server)
      defined?(::Rackup::Server) ? ::Rackup::Server : ::Rack::Server
    rescue LoadError
      nil
    end

    def load_script
      catch(Script) do
        define_data
        load(@path)
        nil
      end
    end

    # Defines DATA for the script, as Ruby does for the program that it runs, but not for a file that it loads.
    def define_data
      file = File.open(@path)
      is_end = file.each_line.any? { |line| line.chomp == "__END__" }
      is_end ? Object.const_set(:DATA, file) : file.close
    end

    # Scripts look at these to find out whether they are the program. Those that start servers also trap INT, which here
    # belongs to the server: its own handler is set again.
    def as_program
      program = $PROGRAM_NAME
      variables = @variables.to_h { |name, _| [name, ENV[name]] }
      Script.is_loading = true
      $PROGRAM_NAME = @path
      ARGV.replace(@arguments)
      ENV.update(@variables)
      yield
    ensure
      ENV.update(variables)
      ARGV.clear
      $PROGRAM_NAME = program
      Script.is_loading = false
      defined?(Signals) ? Signals.renew("INT") : trap("INT", "IGNORE")
    end
  end
end
