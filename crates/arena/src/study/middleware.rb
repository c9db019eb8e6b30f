# The arena's: tells when a request entered and left the application, and the processor time of its thread meanwhile.
# It is plain enough for every Ruby that a server has, the embedded one included.
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

  # The one clock that is the same in all of them: the embedded interpreter's other one begins with it.
  def now
    Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
  end
end

use ArenaTime
path = "{{ path }}"
eval(File.read(path).sub(/^__END__$.*/m, ""), binding, path, 1)
