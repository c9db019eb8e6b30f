# What every web server does, and as little of an application as can be: a few words, many headers, bodies and files of
# up to ten megabytes, uploads, and requests that compute or wait for a tenth of a second.

require "tempfile"

MEGABYTES_10 = 10_000_000
TEXT = "FoolsGold\n".freeze
SMALL = (TEXT * 10_000).freeze
LARGE = (TEXT * (MEGABYTES_10 / TEXT.bytesize)).freeze

FILE = Tempfile.create("basics").tap do |file|
  file.write(LARGE)
  file.close
  at_exit { File.delete(file.path) if Process.pid == FILE_OWNER }
end
FILE_OWNER = Process.pid

# A body that names its file, as Rack::Files does: the server may send it without reading it.
class Named
  attr_reader :to_path

  def initialize(path)
    @to_path = path
  end

  def each
    File.open(@to_path, "rb") do |file|
      while (part = file.read(65_536))
        yield part
      end
    end
  end
end

HEADERS = (1..80).to_h { |number| ["x-number-#{number}", "value #{number}"] }.freeze

def plain(body, length = body.bytesize, more = {})
  [200, { "content-type" => "text/plain", "content-length" => length.to_s }.merge(more), [body]]
end

def uploaded(input)
  count = 0
  while (part = input.read(65_536))
    count += part.bytesize
  end
  plain("#{count} bytes\n")
end

# The processor time of this thread: the same work on a busy machine as on a quiet one.
def compute
  clock = Process::CLOCK_THREAD_CPUTIME_ID
  ends = Process.clock_gettime(clock) + 0.1
  sum = 0
  sum += 1 while Process.clock_gettime(clock) < ends
  plain("computed\n")
end

def wait
  sleep 0.1
  plain("waited\n")
end

def file
  head = { "content-type" => "application/octet-stream", "content-length" => MEGABYTES_10.to_s }
  [200, head, Named.new(FILE.path)]
end

run lambda { |env|
  case env["PATH_INFO"]
  when "/" then plain("Hello, World!\n")
  when "/headers" then plain("Hello, World!\n", 14, HEADERS)
  when "/small" then plain(SMALL)
  when "/large" then plain(LARGE)
  when "/file" then file
  when "/upload" then uploaded(env["rack.input"])
  when "/compute" then compute
  when "/wait" then wait
  else [404, { "content-type" => "text/plain", "content-length" => "10" }, ["not found\n"]]
  end
}
