# frozen_string_literal: true

# What rackup, Rails and Sinatra call a handler: it starts the server with the file that the application came from.

require_relative "binary"
require_relative "flags"
require_relative "program"
require_relative "rackfile"
require_relative "script"

module FoolsGold
  # The same for Rack 2 and Rack 3, which look for it in different places.
  module Handler
    # Names the file with which the server's workers show Rails's log on the console.
    RAILS_LOG = "FOOLSGOLD_RAILS_LOG"

    NO_OBJECT = "FoolsGold loads what it serves from a file such as config.ru, in processes of its own, and cannot " \
                "take an object from here: give it to another server, such as Puma or WEBrick. RACKUP_HANDLER and " \
                "RACK_HANDLER choose FoolsGold for all code that asks for the default handler"
    private_constant :NO_OBJECT

    # Serves until the server ends, and then ends as it did.
    def run(app, **options)
      Handler.refuse_object(options)
      Script.take(app)
      Handler.return_to_application(options)
      flags = Flags.new(app, options)
      rackfile = Rackfile.new(app, options)
      rackfile.warn_of_object(caller_locations(1, 1).first.path)
      status = rackfile.use do |files|
        command = [Binary.path, *flags.to_a, *files]
        program = Program.new(Handler.environment(options).merge(flags.variables, rackfile.variables), command)
        yield program if block_given?
        program.run
      end
      exit(status.exitstatus || (128 + status.termsig)) unless status.success?
    rescue Unable => error
      abort "foolsgold: #{error.message}"
    end

    def valid_options
      {
        "Host=HOST" => "Address to listen on, or a path for a Unix socket (default: localhost)",
        "Port=PORT" => "Port to listen on (default: 9292)",
        "Threads=N" => "Threads of each worker; of MIN:MAX, MAX counts (default: 5)",
        "Workers=N" => "Worker processes (default: 1 in development, else one per core)",
        "Silent" => "Write warnings and errors only",
        "Verbose" => "Write debugging lines, too"
      }
    end

    # Raises for an object of a library, such as metrics or an application that is tested in a browser: the config.ru
    # of the working directory would be served in its place. An object that comes from a file is given in the main
    # thread, by a command or by a script that the server loads.
    def self.refuse_object(options)
      return if options[:config] || options[:builder]
      return if Thread.current == Thread.main && (Script.is_loading || !::FoolsGold.respond_to?(:hooks))

      raise NO_OBJECT
    end

    # A command in the background (`rackup -D`, `rails server -d`) is in the folder / by now. The server looks for files
    # of the application where it is started, and Rails names its config.ru by a relative path.
    def self.return_to_application(options)
      return unless options[:daemonize]

      folder = ::Rails.root if defined?(::Rails) && ::Rails.respond_to?(:root)
      folder ||= File.dirname(options[:config]) if options[:config]
      Dir.chdir(folder) if folder
    end

    # rackup's -I and -r have to reach the process that loads the application. `rails server` shows Rails's log on the
    # console, in development; Rails has set that up in this process, where no request will run.
    def self.environment(options)
      folders = Array(options[:include]).map { |folder| File.expand_path(folder) }
      libraries = Array(options[:require]).map { |name| File.file?(name) ? File.expand_path(name) : name }
      # RUBYOPT is split at spaces, RUBYLIB is not.
      libraries.map! do |name|
        next name unless name.match?(/\s/)

        folders << File.dirname(name)
        File.basename(name)
      end
      changed = { Binary::VARIABLE => nil }
      changed[RAILS_LOG] = File.expand_path("railslog.rb", __dir__) if options[:log_stdout]
      changed["RUBYLIB"] = [*folders, *ENV["RUBYLIB"]].join(File::PATH_SEPARATOR) unless folders.empty?
      changed["RUBYOPT"] = [*ENV["RUBYOPT"], *libraries.map { |name| "-r#{name}" }].join(" ") unless libraries.empty?
      changed
    end
  end
end
