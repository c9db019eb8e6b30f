# The folders that an application may use (docs/data.md), and the loading of the rest of File, Dir and IO.

module FoolsGold
  READ_ONLY = "files are for reading here: keep data in SQLite (require \"sqlite3\"), in FoolsGold.store, or in a " \
    "service beside it. See docs/data.md, or run with --engine ruby.".freeze

  class << self
    # Allows reading files of these folders while requests are answered. For config.ru.
    def allow_read(*folders)
      folders.flatten.each { |folder| Native.allow(File.path(folder), false) }
      nil
    end

    # Allows writing databases in these folders, and reading their files. For config.ru.
    def allow_write(*folders)
      folders.flatten.each { |folder| Native.allow(File.path(folder), true) }
      nil
    end

    # Ends the loading of the application: from now on it may read its own folder, and the folders of code.
    def seal_folders
      gems = [ENV["GEM_HOME"], *ENV["GEM_PATH"].to_s.split(":"), ENV["BUNDLE_PATH"]]
      Native.seal([root, *$LOAD_PATH.map(&:to_s), *gems].compact.reject(&:empty?))
    end
  end

  # Runs the block; where there are too many open files, databases or connections, collects garbage and runs it again.
  # Those that the application did not close stay open until the garbage collector finds them.
  def self.with_room
    yield
  rescue StandardError => error
    is_full = [Errno::EMFILE, Errno::ENFILE].any? { |full| error.is_a?(full) }
    raise unless is_full || error.class.name == "SQLite3::MemoryException"
    GC.start
    yield
  end

  # Passes an open object to the block, and closes it afterwards with the method `name`. Returns the block's value.
  def self.closing(open, name = :close)
    yield open
  ensure
    open.__send__(name)
  end

  # The class method `open`: like `new`, but with a block it returns the block's value.
  module Opening
    def open(*args, **options, &block)
      made = new(*args, **options)
      block ? FoolsGold.closing(made, &block) : made
    end
  end

  # Loads library/core/files.rb when a method is called that is missing: most applications need few methods of files.
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
