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

    # `name`: of the application, if it is a class.
    def initialize(path, arguments, name)
      @path = path
      @arguments = arguments
      @name = name
    end

    def application
      given = as_program { load_script }
      app = given || (@name && Object.const_get(@name))
      # It would start a server when this process ends.
      ::Sinatra::Application.set(:run, false) if defined?(::Sinatra::Application)
      app || raise(LoadError, "#{@path} gave no application to a server: write a config.ru that runs it")
    end

    private

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
      Script.is_loading = true
      $PROGRAM_NAME = @path
      ARGV.replace(@arguments)
      yield
    ensure
      ARGV.clear
      $PROGRAM_NAME = program
      Script.is_loading = false
      defined?(Signals) ? Signals.renew("INT") : trap("INT", "IGNORE")
    end
  end
end
