# frozen_string_literal: true

# The folder of a run with application, certificate, socket, and owners. If this is root, the server and the proxies run
# as two different users, neither of them root.

require "etc"
require "fileutils"
require "openssl"
require "socket"
require "tmpdir"

class Site
  # Users of Debian; without root all run as the current user.
  SERVER_USER = "daemon"
  PROXY_USER = "www-data"

  class Trouble < StandardError; end

  attr_reader :folder

  def self.open
    site = new
    yield site
  ensure
    site&.remove
  end

  # Waits until the block returns true; the error names what was waited for.
  def self.wait(what, seconds: 60)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (found = yield)
      raise Trouble, "waited #{seconds} s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.02
    end
    found
  end

  def initialize
    @folder = Dir.mktmpdir("foolsgold-proxies-")
    FileUtils.chmod(0o755, @folder)
    make("run", SERVER_USER)
    make("proxy", PROXY_USER)
    make("seen", SERVER_USER)
    make("public/assets", nil)
    File.write(path("public/assets/a.txt"), "an asset\n")
    FileUtils.cp(File.join(__dir__, "app.ru"), path("config.ru"))
    certificate
  end

  def path(name)
    File.join(@folder, name)
  end

  def remove
    FileUtils.remove_entry(@folder)
  end

  def root?
    Process.uid.zero?
  end

  # The beginning of a command that runs as this user.
  def as(user)
    return [] unless root?

    ["setpriv", "--reuid=#{user}", "--regid=#{Etc.getpwnam(user).gid}", "--clear-groups"]
  end

  # A port that was free a moment ago.
  def self.port
    server = TCPServer.new("127.0.0.1", 0)
    server.addr[1]
  ensure
    server&.close
  end

  # Stops a process that this program started, and reaps it.
  def self.end_process(pid, signal = "TERM")
    Process.kill(signal, pid)
    wait("process #{pid} ends") { Process.wait(pid, Process::WNOHANG) }
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  private

  def make(name, user)
    FileUtils.mkdir_p(path(name), mode: 0o755)
    FileUtils.chown(user, Etc.getgrgid(Etc.getpwnam(user).gid).name, path(name)) if user && root?
  end

  def certificate
    key = OpenSSL::PKey::RSA.new(2048)
    mine = OpenSSL::X509::Certificate.new
    mine.version = 2
    mine.serial = 1
    mine.subject = mine.issuer = OpenSSL::X509::Name.parse("/CN=shop.example")
    mine.public_key = key.public_key
    mine.not_before = Time.now - 3600
    mine.not_after = Time.now + 86_400
    names = OpenSSL::X509::ExtensionFactory.new(mine, mine)
    mine.add_extension(names.create_extension("subjectAltName", "DNS:shop.example"))
    mine.sign(key, OpenSSL::Digest.new("SHA256"))
    { "fullchain.pem" => mine.to_pem, "privkey.pem" => key.to_pem, "both.pem" => mine.to_pem + key.to_pem }
      .each { |name, pem| File.write(path("proxy/#{name}"), pem) }
  end
end
