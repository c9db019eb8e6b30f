# frozen_string_literal: true

# The first part of the script that reads another server's configuration: what is printed is ours alone.

module FoolsGold
  # What the configuration says itself goes to standard error.
  OUT = $stdout.dup
  $stdout.reopen($stderr)
  $stdout.sync = true
  # The script itself comes in here.
  $stdin.reopen(File::NULL)

  class << self
    # The gems of the application, as the old server would have found them; a machine without them can still explain.
    def set_up_bundler
      gemfile = ENV["BUNDLE_GEMFILE"] || %w[Gemfile gems.rb].find { |name| File.file?(name) }
      return if gemfile.nil? || gemfile.empty?

      require "bundler"
      Bundler.setup
    rescue LoadError, StandardError => error
      warn "the gems of #{gemfile} are not there: #{error.message.lines.first}"
    end

    # What all these servers have loaded before they read their configuration.
    def load_usual
      %w[etc socket tmpdir logger].each do |name|
        require name
      rescue LoadError
        nil # A configuration that needs it says so itself.
      end
    end

    # JSON last: no version of it may be activated before the configuration has chosen its own.
    def tell(calls, error, path)
      require "json"
      # One line: its end is the end, since a process that the configuration has started may hold the pipe open.
      OUT.puts(JSON.generate("calls" => calls, "error" => error && described(error, path)))
      OUT.flush
      # No at_exit block and no thread of the configuration has anything to do here.
      exit!(0)
    end

    def described(error, path)
      frames = error.backtrace_locations || []
      line = frames.find { |frame| frame.path == path }&.lineno
      # The message of a syntax error begins with its place.
      line ||= error.message[/\A#{Regexp.escape(path)}:(\d+)/, 1]&.to_i if error.is_a?(ScriptError)
      { "class" => error.class.name, "message" => utf8(error.message), "line" => line }
    end

    # A value as JSON can hold it.
    def plain(value)
      case value
      when nil, true, false, Integer then value
      when Float then value.finite? ? value : value.to_s
      when String, Symbol then utf8(value.to_s)
      when Array then value.map { |one| plain(one) }
      when Hash then value.to_h { |key, one| [utf8(key.to_s), plain(one)] }
      else value.respond_to?(:to_path) ? utf8(value.to_path) : "(#{value.class})"
      end
    end

    def utf8(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub("?")
    end
  end
end
