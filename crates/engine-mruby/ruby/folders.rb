# Which folders an application may use, and what loads the rest of File, Dir and IO.

module FoolsGold
  READ_ONLY = "files are for reading here: keep data in SQLite (require \"sqlite3\"), in FoolsGold.store, or in a " \
    "service beside it. See docs/data.md, or run with --engine ruby.".freeze

  class << self
    # Another folder whose files may be read while requests are answered; said in config.ru.
    def allow_read(*folders)
      folders.flatten.each { |folder| Native.allow(File.path(folder), false) }
      nil
    end

    # Another folder in which databases may be written; it may be read as well.
    def allow_write(*folders)
      folders.flatten.each { |folder| Native.allow(File.path(folder), true) }
      nil
    end

    # The application is loaded. What it may read from now on: its folder, and where code may come from.
    def seal_folders
      gems = [ENV["GEM_HOME"], *ENV["GEM_PATH"].to_s.split(":"), ENV["BUNDLE_PATH"]]
      Native.seal([root, *$LOAD_PATH.map(&:to_s), *gems].compact.reject(&:empty?))
    end
  end

  # Files, databases and connections that nobody closed stay until the garbage collector finds them: where there is no
  # room for more, it looks at once.
  def self.with_room
    yield
  rescue StandardError => error
    raise unless error.is_a?(Errno::EMFILE) || error.class.name == "SQLite3::MemoryException"
    GC.start
    yield
  end

  # Loaded when a method of it is first called: most applications need a few methods only.
  module RestOfFiles
    def method_missing(name, *args, **options, &block)
      return super unless FoolsGold::Loader.library("foolsgold/files")
      __send__(name, *args, **options, &block)
    end

    def respond_to_missing?(name, all = false)
      FoolsGold::Loader.library("foolsgold/files") && respond_to?(name, all)
    end
  end
end
