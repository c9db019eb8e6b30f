# frozen_string_literal: true

# Compiles the native worker for the Ruby that runs this: `ruby build.rb FOLDER` leaves it in a folder of its own in
# FOLDER and prints its path; `ruby build.rb --find FOLDER...` prints the path in the first folder that has it, and
# exits with 2 if none has; with --anew it is compiled even where it is there.
#
# A server waits for this at its start: where nothing is to be compiled it loads little and starts no further Ruby.

require "digest/sha2"
require "rbconfig"

# What the extension adds itself to.
module FoolsGold
end

# Builds the extension. Its folder is named by everything it depends on, so that an outdated one is never found.
class Build
  NAME = "foolsgold_native"
  SOURCES = Dir[File.join(__dir__, "{extconf.rb,*.c,*.h}")].sort.freeze
  # Variables that Bundler or make may have set.
  ENVIRONMENT = { "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil, "MAKEFLAGS" => nil, "MFLAGS" => nil }.freeze
  # The extension checks itself when it is loaded. All that it needs for that is its superclass.
  CHECK = "module FoolsGold; class Slot; end; end; require ARGV[0]; FoolsGold::NativeSlot"

  class Failed < StandardError; end

  def initialize(cache, is_anew)
    @is_anew = is_anew
    digest = Digest::SHA256.hexdigest(SOURCES.map { |path| File.binread(path) }.join("\0"))[0, 16]
    @cache = File.expand_path(cache)
    @folder = File.join(@cache, [RUBY_ENGINE, RbConfig::CONFIG["ruby_version"], RUBY_PLATFORM, digest].join("-"))
  end

  def path
    File.join(@folder, "#{NAME}.#{RbConfig::CONFIG['DLEXT']}")
  end

  # The file that the digest of the extension is written to.
  def digest_path
    File.join(@folder, "#{NAME}.sha256")
  end

  # Whether the extension is there as it was built: one that a crash has cut off may end the Ruby that loads it.
  def there?
    File.read(digest_path) == digest(path)
  rescue SystemCallError
    false
  end

  # Whether it can be loaded here. One that ends this process is compiled anew by the caller (--anew).
  def good?
    return false unless there?

    FoolsGold.const_set(:Slot, Class.new) unless FoolsGold.const_defined?(:Slot)
    require path
    FoolsGold.const_defined?(:NativeSlot)
  rescue LoadError
    false
  end

  # Builds in another folder first: another process finds all of it, or nothing.
  def make
    require "fileutils"
    require "tmpdir"
    check_tools
    FileUtils.mkdir_p(@cache)
    work = Dir.mktmpdir("build-", @cache)
    FileUtils.cp(SOURCES, work)
    run(work, RbConfig.ruby, "extconf.rb")
    run(work, ENV.fetch("MAKE", "make"))
    run(work, RbConfig.ruby, "-e", CHECK, File.join(work, File.basename(path)))
    publish(work)
  ensure
    FileUtils.rm_rf(work) if work
  end

  private

  def check_tools
    raise Failed, "the native worker is for CRuby; this is #{RUBY_ENGINE}" unless RUBY_ENGINE == "ruby"

    unless File.file?(File.join(RbConfig::CONFIG["rubyhdrdir"].to_s, "ruby.h"))
      raise Failed, "the headers of this Ruby are not installed (ruby-dev or ruby-devel)"
    end

    [RbConfig::CONFIG["CC"], ENV.fetch("MAKE", "make")].each do |command|
      tool = command.to_s.split.first
      raise Failed, "`#{tool}` is not installed (build-essential, or gcc and make)" unless tool && found?(tool)
    end
  end

  def found?(tool)
    return File.executable?(tool) if tool.include?("/")

    ENV["PATH"].split(File::PATH_SEPARATOR).any? { |folder| File.executable?(File.join(folder, tool)) }
  end

  def run(work, *command)
    log = File.join(work, "build.log")
    return if system(ENVIRONMENT, *command, chdir: work, %i[out err] => [log, "a"])

    raise Failed, "`#{command.first(2).join(' ')}` failed:\n#{File.readlines(log).last(20).join}"
  end

  # Moves the result into place, once it is on the disk. Another run may have been faster; its result is as good.
  def publish(work)
    ready = Dir.mktmpdir("ready-", @cache)
    extension = File.join(ready, File.basename(path))
    FileUtils.cp(File.join(work, File.basename(path)), extension)
    written = File.join(ready, File.basename(digest_path))
    File.write(written, digest(extension))
    FileUtils.chmod(0o755, [ready, extension])
    FileUtils.chmod(0o644, written)
    [extension, written, ready].each { |one| sync(one) }
    FileUtils.rm_rf(@folder) if @is_anew || !good?
    File.rename(ready, @folder)
    sync(@cache)
  rescue Errno::ENOTEMPTY, Errno::EEXIST
    raise unless good?
  ensure
    FileUtils.rm_rf(ready) if ready
  end

  def digest(path)
    Digest::SHA256.hexdigest(File.binread(path))
  end

  # Writes a file, or the names in a folder, to the disk. Some file systems cannot do that with a folder.
  def sync(path)
    File.open(path, &:fsync)
  rescue Errno::EINVAL, Errno::ENOTSUP
    nil
  end
end

find = ARGV.delete("--find")
anew = ARGV.delete("--anew")
is_understood = find ? ARGV.any? && !anew : ARGV.size == 1
abort "usage: ruby build.rb --find FOLDER... | [--anew] FOLDER" unless is_understood
builds = ARGV.map { |cache| Build.new(cache, anew) }
build = find ? builds.find(&:there?) : builds.first
exit 2 unless build
begin
  build.make unless find || (!anew && build.good?)
rescue Build::Failed, SystemCallError => error
  abort error.message
end
puts build.path
