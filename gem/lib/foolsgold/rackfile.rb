# frozen_string_literal: true

# Which config.ru the server is to load, or one that is made for it.

require "fileutils"
require "tmpdir"
require_relative "unable"

module FoolsGold
  # The server loads the application itself, in processes of its own, so it needs a file and not an object.
  class Rackfile
    LIB = File.expand_path("..", __dir__)

    def initialize(app, options, script = $PROGRAM_NAME)
      @app = app
      @options = options
      @given = script
      @script = absolute(script)
    end

    # Gives arguments for the program to a block, and takes away afterwards what was made for them. Without anything to
    # make it needs no folder: in a container there may be none to write to. A server in the background would outlive
    # what was made, and the next worker would find no file: whatever the settings say, it stays in the foreground.
    def use
      text = made
      return yield([named]) unless text

      folder = Dir.mktmpdir("foolsgold-")
      held = lock(folder)
      yield ["--tag", File.basename(@script, ".rb"), "--daemonize=no", write(folder, text)]
    ensure
      held&.close
      FileUtils.remove_entry(folder) if folder
    end

    # Warns that the config.ru of the working directory is served, and not the object that a script passes to the
    # handler without naming a file. `caller` is the path of the code that calls the handler. It is no error, since the
    # script may have built the object from that config.ru.
    def warn_of_object(caller)
      return if @options[:config] || @options[:builder] || object? || absolute(caller) != @script

      path = named or return
      warn("foolsgold: serves #{path}, and not the object that #{File.basename(@script)} gives to the handler: name " \
           "the file with the application instead (config: \"other.ru\"), or this one, if it is meant")
    end

    # Variables for the program: the folder where it looks for settings files, hooks, and the file whose touch reloads.
    # Otherwise it would look beside the file that is made here.
    def variables
      folder = @options[:builder] ? Dir.pwd : File.dirname(@script) if made
      { FOLDER => folder }
    end

    FOLDER = "FOOLSGOLD_APP_FOLDER"
    private_constant :FOLDER

    # Variables that name the default handler of rackup. The server keeps them from the application, but a script that
    # asks for the default handler has to get this one there, too.
    HANDLERS = %w[RACKUP_HANDLER RACK_HANDLER].freeze
    private_constant :HANDLERS

    private

    # The path of the script, which may have left the folder that it was started in (`Dir.chdir(__dir__)`).
    def absolute(script)
      path = File.expand_path(script)
      return path if File.file?(path) || ENV["PWD"].to_s.empty?

      of_shell = File.expand_path(script, ENV["PWD"])
      File.file?(of_shell) ? of_shell : path
    end

    # The arguments that the script was given, as it runs with them once more: an OptionParser has taken what it knows
    # out of ARGV by now. On Linux the process still has them; under `bundle exec` as its title, without quotes.
    def arguments
      words = File.binread("/proc/self/cmdline").split("\0", -1)
      at = words.index(@given.b)
      given = at&.positive? ? words[at + 1...-1] : of_title(words.first.to_s)
      given.map { |word| word.dup.force_encoding(Encoding.default_external) }
    rescue SystemCallError
      ARGV
    end

    def of_title(title)
      rest = title.delete_prefix("#{@given.b} ")
      rest == title || rest == ARGV.join(" ").b ? ARGV : rest.split
    end

    # Locks the folder: systemd-tmpfiles removes old files, but none from a locked folder (tmpfiles.d(5)). The server
    # reads the file whenever it loads the application, for instance for a worker that replaces another.
    def lock(folder)
      File.open(folder).tap { |opened| opened.flock(File::LOCK_SH) }
    rescue SystemCallError
      nil # Some Rubies cannot open a folder, and some file systems have no locks.
    end

    def write(folder, text)
      path = File.join(folder, "config.ru")
      File.write(path, text)
      return path unless Process.euid.zero?

      # The settings may name another user for the server, or for its workers.
      File.chmod(0o755, folder)
      File.chmod(0o644, path)
      path
    end

    # The text of a file that has to be made, or nil.
    def made
      # `rackup --builder`: a file is never looked at.
      return @options[:builder] if @options[:builder]
      return if named && !object?
      return from_script if File.file?(@script)

      raise Unable, "there is no file that the server could load the application from: write a config.ru"
    end

    def named
      path = File.expand_path(@options[:config] || "config.ru")
      path if File.file?(path)
    end

    # An application that no file was named for: `ruby app.rb` with Sinatra, or a script that starts a server itself.
    def object?
      @options[:app] || (@options[:config] ? of_command? : @app.respond_to?(:app_file))
    end

    # Whether a command has an application of its own, although the options name config.ru, which is Rack's default:
    # `camping` has its own kind of Rack's server. That keeps an application which it has read from the named file.
    def of_command?
      servers = [(::Rackup::Server if defined?(::Rackup::Server)), (::Rack::Server if defined?(::Rack::Server))]
      servers.compact.any? do |kind|
        ObjectSpace.each_object(kind).any? { |server| server.instance_variable_get(:@app).nil? }
      end
    rescue RuntimeError
      false # JRuby lists no objects.
    end

    def from_script
      name = @app.name if @app.is_a?(Module)
      <<~RUBY
        # Made by FoolsGold, to load an application from the script that starts it.
        $LOAD_PATH.unshift(#{[*folders, LIB].map(&:dump).join(", ")})
        require "foolsgold/script"
        arguments = [#{arguments.map(&:dump).join(", ")}]
        run FoolsGold::Script.new(#{@script.dump}, arguments, #{name.inspect}, #{ENV.slice(*HANDLERS)}).application
      RUBY
    end

    # The folders of `ruby -I`, and those that the script has added: all in the load path that come before Ruby's own
    # and belong to no gem.
    def folders
      return [] unless defined?(Gem)

      of_gems = Gem.loaded_specs.each_value.flat_map(&:full_require_paths)
      $LOAD_PATH.take(Gem.load_path_insert_index).map(&:to_s) - of_gems
    end
  end
end
