# frozen_string_literal: true

# The four proxies, each with its example of docs/examples, in which only ports and paths are replaced, and with the
# configuration that a distribution has around it.

require "fileutils"
require "open3"

require_relative "site"

# Base class of the proxies.
class Proxy
  EXAMPLES = File.expand_path("../../docs/examples", __dir__)

  attr_reader :port, :plain_port

  def self.all
    [Nginx, Caddy, Apache, Haproxy]
  end

  # A proxy in front of a path, a port, or several servers.
  def initialize(site, upstream)
    @site = site
    @upstream = upstream
    @port = Site.port
    @plain_port = Site.port
  end

  def start
    @log = @site.path("proxy/log")
    File.write(@log, "")
    @pid = Process.spawn(environment, *@site.as(Site::PROXY_USER), *command, in: File::NULL,
                         %i[out err] => [@log, "a"], chdir: @site.path("proxy"))
    Site.wait("#{self.class.title} listens") do
      raise Site::Trouble, "#{self.class.title} ended:\n#{log}" if Process.wait(@pid, Process::WNOHANG)

      listens?
    end
  end

  def stop
    Site.end_process(@pid) if @pid
    @pid = nil
  end

  def log
    Dir[@site.path("proxy/*log")].flat_map { |path| File.readlines(path).last(15) }.join
  end

  # Whether it serves files of the application itself.
  def serves_files?
    true
  end

  # Whether the example has lines for several servers with health checks.
  def self.balances? = false

  # Requests that wait while a server on TCP is restarted, according to the example: :all, :safe or :none.
  def waiting
    :none
  end

  private

  def environment
    {}
  end

  def listens?
    TCPSocket.new("127.0.0.1", @port).close
    true
  rescue Errno::ECONNREFUSED
    false
  end

  # The example with its ports and paths replaced; each of them must occur.
  def example(name, replaced)
    text = File.read(File.join(EXAMPLES, name))
    replaced.each do |old, new|
      raise Site::Trouble, "#{old.inspect} is not in docs/examples/#{name}" unless text.include?(old)

      text = text.gsub(old, new)
    end
    write(name, text)
  end

  def write(name, text)
    @site.path("proxy/#{name}").tap { |path| File.write(path, text) }
  end

  def paths
    { "/etc/ssl/shop/" => "#{@site.path("proxy")}/", "/srv/shop/public" => @site.path("public") }
  end
end

class Nginx < Proxy
  def self.title = "nginx"
  def self.version = Open3.capture2e("nginx", "-v").first[%r{nginx/(\S+)}, 1]

  private

  def command
    upstream = @upstream.is_a?(Integer) ? "127.0.0.1:#{@upstream}" : "unix:#{@upstream}"
    site = example("nginx.conf", { "listen 80;" => "listen 127.0.0.1:#{@plain_port};",
                                   "listen 443 ssl http2;" => "listen 127.0.0.1:#{@port} ssl http2;",
                                   "unix:/run/shop/web.sock" => upstream }.merge(paths))
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{@site.path("proxy/t")};" }
    main = write("nginx-main.conf", <<~TEXT)
      daemon off; pid #{@site.path("proxy/nginx.pid")}; error_log stderr warn; worker_processes 2;
      events { worker_connections 512; }
      http { access_log off; #{temporary.join(" ")} include #{site}; }
    TEXT
    ["nginx", "-p", @site.path("proxy"), "-e", "stderr", "-c", main]
  end
end

class Caddy < Proxy
  def self.title = "Caddy"
  def self.version = Open3.capture2e("caddy", "version").first[/v?([\d.]+)/, 1]

  def self.balances? = true
  def waiting = :safe

  private

  def environment
    { "HOME" => @site.path("proxy"), "XDG_DATA_HOME" => @site.path("proxy"), "XDG_CONFIG_HOME" => @site.path("proxy") }
  end

  def command
    site = example("Caddyfile", upstream.merge(paths))
    main = write("Caddyfile-main", <<~TEXT)
      {
        admin off
        http_port #{@plain_port}
        https_port #{@port}
      }
      import #{site}
    TEXT
    ["caddy", "run", "--adapter", "caddyfile", "--config", main]
  end

  def upstream
    socket = "unix//run/shop/web.sock {"
    return { socket => "127.0.0.1:#{@upstream} {" } if @upstream.is_a?(Integer)
    return { socket => "unix/#{@upstream} {" } unless @upstream.is_a?(Array)

    all = @upstream.map { |server| "#{server.address}:#{server.port}" }
    { socket => "#{all.join(" ")} {", "# health_uri /readyz" => "health_uri /readyz",
      "# health_port 9393" => "health_port #{@upstream.first.admin}",
      "# health_interval" => "health_interval", "# health_timeout" => "health_timeout" }
  end
end

class Apache < Proxy
  # The modules that the example enables, and Debian's default ones.
  MODULES = %w[mpm_event authz_core alias dir mime socache_shmcb
               proxy proxy_http headers ssl unique_id http2].freeze

  def self.title = "Apache"
  def self.version = Open3.capture2e("apache2", "-v").first[%r{Apache/(\S+)}, 1]

  private

  def command
    site = example("apache.conf", { "*:80>" => "*:#{@plain_port}>", "*:443>" => "*:#{@port}>" }
                                    .merge(upstream).merge(paths))
    folder = @site.path("proxy")
    modules = MODULES.map { |name| "LoadModule #{name}_module /usr/lib/apache2/modules/mod_#{name}.so" }
    main = write("apache-main.conf", <<~TEXT)
      ServerName localhost
      ServerRoot #{folder}
      DefaultRuntimeDir #{folder}
      PidFile #{folder}/apache.pid
      ErrorLog #{folder}/apache.log
      LogLevel warn
      TypesConfig /dev/null
      #{modules.join("\n")}
      SSLSessionCache shmcb:#{folder}/ssl(512000)
      Listen 127.0.0.1:#{@plain_port}
      Listen 127.0.0.1:#{@port}
      Include #{site}
    TEXT
    ["apache2", "-D", "FOREGROUND", "-f", main]
  end

  def upstream
    whole = "unix:/run/shop/web.sock|http://shop/"
    new = @upstream.is_a?(Integer) ? "http://127.0.0.1:#{@upstream}/" : "unix:#{@upstream}|http://shop/"
    { whole => new }
  end
end

class Haproxy < Proxy
  def self.title = "HAProxy"
  def self.version = Open3.capture2e("haproxy", "-v").first[/version (\d+(\.\d+)*)/, 1]

  def serves_files? = false
  def self.balances? = true
  def waiting = :all

  private

  def command
    site = example("haproxy.cfg", { "bind :80\n" => "bind 127.0.0.1:#{@plain_port}\n",
                                    "bind :443 " => "bind 127.0.0.1:#{@port} ",
                                    "/etc/ssl/shop/" => "#{@site.path("proxy")}/" }.merge(upstream))
    main = write("haproxy-main.cfg", "global\n    log stderr local0 warning\n    maxconn 500\n")
    ["haproxy", "-db", "-f", main, "-f", site]
  end

  def upstream
    socket = "unix@/run/shop/web.sock"
    return { socket => "127.0.0.1:#{@upstream}" } if @upstream.is_a?(Integer)
    return { socket => "unix@#{@upstream}" } unless @upstream.is_a?(Array)

    lines = { "    server shop #{socket}\n" => "", "# option httpchk" => "option httpchk",
              "# option redispatch" => "option redispatch" }
    @upstream.each.with_index(1) do |server, number|
      lines["# server shop#{number} 10.0.0.#{number + 4}:9292 check port 9393"] =
        "server shop#{number} #{server.address}:#{server.port} check port #{server.admin}"
    end
    lines
  end
end
