# The arena's middleware: adds a header with the times at which a request entered and left the application, and with
# the processor time of its thread in between. It runs on every Ruby that a server may have, the embedded one included.
class ArenaTime
  HEADER = "{{ header }}"

  if defined?(JRUBY_VERSION)
    require "java"
    BEAN = java.lang.management.ManagementFactory.thread_mx_bean
    def processor
      BEAN.current_thread_cpu_time
    end
  else
    def processor
      Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    end
  end

  def initialize(app)
    @app = app
  end

  def call(env)
    entered = now
    used = processor
    status, headers, body = @app.call(env)
    used = processor - used
    headers = headers.dup if headers.frozen?
    headers[HEADER] = "#{entered} #{now} #{used}"
    [status, headers, body]
  end

  private

  # The only clock that all processes share: the embedded interpreter's monotonic one starts with the interpreter.
  def now
    Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
  end
end

use ArenaTime
path = "{{ path }}"
eval(File.read(path).sub(/^__END__$.*/m, ""), binding, path, 1)
