# What a run needs: the ring with Puma and Rails, Chromium, PostgreSQL, the program; what can be had is installed.

require "fileutils"
require "tmpdir"
require_relative "chromium"

ROOT = File.expand_path("../..", __dir__)
RING = ENV.fetch("RING", "/opt/ring")

# Checks and installs.
module Needs
  # What Ruby requires in the ring, and the package that has it.
  IN_RING = { "puma" => "puma", "rails" => "rails", "sqlite3" => "ruby-sqlite3", "pg" => "ruby-pg" }.freeze

  module_function

  # Ends the program with word of what is missing.
  def get
    missing = []
    missing << "be root: the ring is entered by chroot" unless Process.uid.zero?
    no_ring = "#{RING} is no ring: run bin/ring, which makes it (or name another with RING)"
    missing << no_ring unless File.exist?("#{RING}/usr/bin/ruby")
    abort missing.map { |line| "browser: #{line}" }.join("\n") unless missing.empty?
    mount
    packages
    missing << "no Chromium: apt-get install chromium" unless Chromium.path || install("chromium")
    missing << "no PostgreSQL: apt-get install postgresql (bin/setup does it)" unless Postgres.tool("initdb")
    abort missing.map { |line| "browser: #{line}" }.join("\n") unless missing.empty?
  end

  # As bin/ring does; after a restart of the machine they are gone.
  def mount
    mounted = File.read("/proc/mounts")
    system("mount", "-t", "proc", "proc", "#{RING}/proc", exception: true) unless mounted.include?(" #{RING}/proc ")
    system("mount", "--bind", "/dev", "#{RING}/dev", exception: true) unless mounted.include?(" #{RING}/dev ")
  end

  def packages
    wanted = IN_RING.reject do |library, _|
      system(*inside, "ruby", "-e", "gem ARGV[0]", library, %i[out err] => File::NULL)
    end
    return if wanted.empty?

    warn "browser: getting #{wanted.values.join(", ")} for the ring"
    command = [*inside("DEBIAN_FRONTEND=noninteractive"), "apt-get", "-q", "-y", "--no-install-recommends"]
    log = "#{RING}/var/log/ring-browser.log"
    system(*command, "update", %i[out err] => log)
    system(*command, "install", *wanted.values, %i[out err] => log) ||
      abort("browser: the ring has no #{wanted.keys.join(", ")}, and they could not be installed (see #{log})")
  end

  def install(package)
    return false unless system("which", "apt-get", %i[out err] => File::NULL)

    warn "browser: getting #{package}"
    env = { "DEBIAN_FRONTEND" => "noninteractive" }
    system(env, "apt-get", "-q", "-y", "install", "--no-install-recommends", package, %i[out err] => File::NULL)
  end

  def inside(*variables)
    ["chroot", RING, "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
      "LANG=C.UTF-8", *variables]
  end
end

# A folder in the ring, with two releases of the application, the program and the gem. Paths have two forms: from
# outside (`out`) and from inside of the ring (`in`).
class Place
  def initialize(program)
    @out = Dir.mktmpdir("browser-", "#{RING}/tmp")
    FileUtils.chmod(0o755, @out)
    @path = @out.delete_prefix(RING)
    FileUtils.mkdir_p(out("bin"))
    FileUtils.cp(program, out("bin/foolsgold"))
    FileUtils.cp_r("#{ROOT}/gem", out("gem"))
    # The gemspec is not needed, and reads what is not here.
    FileUtils.rm_f(out("gem/foolsgold.gemspec"))
  end

  def out(name) = File.join(@out, name)

  def in(name) = File.join(@path, name)

  # `current`, which leads to the first of two releases, and what they share; all anew.
  def releases(name)
    FileUtils.rm_rf(out(name))
    FileUtils.mkdir_p([out("#{name}/shared"), out("#{name}/releases")])
    %w[one two].each do |release|
      folder = out("#{name}/releases/#{release}")
      FileUtils.cp_r("#{ROOT}/apps/rails-browser", folder)
      %w[log tmp storage].each { |left| FileUtils.rm_rf(File.join(folder, left)) }
      FileUtils.mkdir_p(File.join(folder, "tmp"))
      File.write(File.join(folder, "REVISION"), "#{release}\n")
    end
    lead(name, "one")
  end

  # Leads `current` to a release, at once.
  def lead(name, release)
    link = out("#{name}/current")
    File.symlink("releases/#{release}", "#{link}.new")
    File.rename("#{link}.new", link)
  end

  # Processes that have their root in the ring and this folder in their command or as their own, the caller's left out.
  def left_behind
    Dir.glob("/proc/[0-9]*").filter_map do |folder|
      next unless File.readlink("#{folder}/cwd").start_with?(@out)

      [Integer(File.basename(folder)), File.read("#{folder}/cmdline").tr("\0", " ").strip]
    rescue SystemCallError
      nil
    end
  end

  def remove = FileUtils.rm_rf(@out)
end

# A database server of our own, without a port: its socket is in the ring.
class Postgres
  NOBODY = "postgres"

  def self.tool(name)
    folders = ENV.fetch("PATH").split(":") + Dir.glob("/usr/lib/postgresql/*/bin").sort.reverse
    folders.map { |folder| File.join(folder, name) }.find { |file| File.executable?(file) }
  end

  def initialize(place)
    @place = place
    @folder = place.out("pg")
    FileUtils.mkdir_p(@folder)
    FileUtils.chown(NOBODY, NOBODY, @folder)
    log = place.out("postgresql.log")
    as = %W[setpriv --reuid #{NOBODY} --regid #{NOBODY} --clear-groups --pdeathsig INT]
    system(*as, Postgres.tool("initdb"), "-D", "#{@folder}/data", "-U", "browser", "-A", "trust", "-N", "-E", "UTF8",
      "--locale", "C", chdir: @folder, %i[out err] => log) || abort("browser: initdb failed: #{File.read(log)}")
    @pid = spawn(*as, Postgres.tool("postgres"), "-D", "#{@folder}/data", "-k", @folder, "-c", "listen_addresses=",
      "-c", "fsync=off", chdir: @folder, %i[out err] => log)
    begun = within(20) { File.exist?("#{@folder}/.s.PGSQL.5432") }
    begun || abort("browser: PostgreSQL does not start: #{File.read(log)}")
  end

  def url(name) = "postgresql:///#{name}?host=#{@place.in("pg")}&user=browser"

  def stop
    Process.kill(:INT, @pid)
    Process.wait(@pid)
  end
end
