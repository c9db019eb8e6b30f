# Gems of the application: pure Ruby in vendor/, vendor/bundle, or the folders in GEM_HOME, GEM_PATH and BUNDLE_PATH. A
# Gemfile.lock chooses the versions; without one the newest of each counts. Loaded by a require of something that is
# neither a file of the application nor built in.

module FoolsGold
  module Gems
    # A gem and its folder.
    class Entry
      attr_reader :name, :version, :folder

      def initialize(name, version, folder, specification)
        @name = name
        @version = version
        @folder = folder
        @specification = specification
      end

      def newer?(other)
        mine = numbers
        theirs = other.numbers
        [mine.size, theirs.size].max.times do |at|
          left = mine[at] || 0
          right = theirs[at] || 0
          return left > right if left != right
        end
        false
      end

      def numbers = version.split(".").map(&:to_i)

      def paths
        @paths ||= words("require_paths", ["lib"]).map { |path| File.join(folder, path) }
      end

      def extension?
        !words("extensions", []).empty?
      end

      # A list of words from the gem's specification, in the form that RubyGems writes. The file is not evaluated: it is
      # Ruby code that needs RubyGems.
      def words(name, otherwise)
        return otherwise unless File.file?(@specification)
        line = File.readlines(@specification).find { |one| one.include?("s.#{name} = [") }
        return otherwise unless line
        found = []
        line.split('"').each_with_index { |word, at| found << word if at.odd? }
        found
      end
    end

    class << self
      # The file in a gem that `require name` loads, or nil. The gem's folders join $LOAD_PATH, for its own requires.
      def find(name)
        all.each do |gem|
          gem.paths.each do |folder|
            path = candidate(gem, "#{folder}/#{name}")
            next unless path
            gem.paths.each { |one| $LOAD_PATH << one unless $LOAD_PATH.include?(one) }
            return path
          end
        end
        nil
      end

      def demand(name)
        plain = name.tr("-", "/")
        return true if Loader.built_in?(plain) || STAND_INS.include?(plain) || all.any? { |gem| gem.name == name }
        raise LoadError, "Could not find '#{name}' among the gems (#{summary})"
      end

      def summary
        all.empty? ? "there are none: vendor/, GEM_HOME, GEM_PATH and BUNDLE_PATH are looked through" : names
      end

      def names
        all.map { |gem| "#{gem.name} #{gem.version}" }.join(", ")
      end

      def all
        @all ||= chosen
      end

      # The versions in Gemfile.lock by name; nil where there is no such file.
      def locked
        return @locked if @looked
        @looked = true
        path = (ENV["BUNDLE_GEMFILE"] || File.join(root, "Gemfile")) + ".lock"
        @locked = File.file?(path) ? read_lock(path) : nil
      end

      def root
        FoolsGold.root || Dir.pwd
      end

      private

      def candidate(gem, path)
        Loader.candidate(path)
      rescue LoadError
        raise unless gem.extension?
        raise LoadError, "#{gem.name} #{gem.version} is a C extension, which only CRuby can load. #{HINT}"
      end

      def read_lock(path)
        found = {}
        File.readlines(path, chomp: true).each do |line|
          next unless line.start_with?("    ") && !line.start_with?("     ") && line.end_with?(")")
          name, version = line.strip.chomp(")").split(" (")
          found[name] = version
        end
        found
      end

      def chosen
        found = {}
        places.each do |place|
          next unless File.directory?(place)
          Dir.children(place).each { |entry| consider(found, place, entry) }
        end
        found.values
      end

      def consider(found, place, entry)
        folder = File.join(place, entry)
        dash = dash_in(entry)
        name = dash ? entry[0...dash] : entry
        version = dash ? entry[(dash + 1)..-1] : "0"
        # A folder without a version, such as vendor/mygem, is taken whatever the lock says.
        return if locked && dash && locked[name] != version
        return unless File.directory?(File.join(folder, "lib"))
        gem = Entry.new(name, version, folder, File.join(place, "../specifications/#{entry}.gemspec"))
        found[name] = gem if found[name].nil? || gem.newer?(found[name])
      end

      # The index of the dash before the version: the last one before a digit, since names have dashes too.
      def dash_in(entry)
        at = entry.size
        while (at = entry.rindex("-", at - 1))
          digit = entry[at + 1]
          return at if digit && digit >= "0" && digit <= "9"
          return nil if at == 0
        end
      end

      def places
        vendor = File.join(root, "vendor")
        homes = [ENV["GEM_HOME"], *ENV["GEM_PATH"].to_s.split(":")].compact.reject(&:empty?)
        [vendor, File.join(vendor, "gems"), *bundles(File.join(vendor, "bundle")), *bundles(ENV["BUNDLE_PATH"]),
         *homes.map { |home| File.join(home, "gems") }]
      end

      # Folders of gems below a folder of Bundler, which has one for each Ruby version, the newest first.
      def bundles(folder)
        return [] if folder.nil? || !File.directory?(File.join(folder, "ruby"))
        ruby = File.join(folder, "ruby")
        Dir.children(ruby).sort.reverse.map { |version| File.join(ruby, version, "gems") }
      end
    end
  end
end
