# The tables: rows of a name, what an application answers, and what a client gets. Read by the application, which
# answers, and by the client (check.rb), which compares.

# What was done to a body, in order, by the number of the request. Interpreters of the embedded engine share nothing but
# the store.
module Notes
  @lock = Mutex.new
  @all = {}

  class << self
    def write(run, word)
      @lock.synchronize { put(run, (read(run).split(" ") << word).join(" ")) }
    end

    def read(run)
      (shared ? FoolsGold.store.get("notes#{run}") : @all[run]).to_s
    end

    private

    def shared
      RUBY_ENGINE == "mruby"
    end

    def put(run, words)
      shared ? FoolsGold.store.set("notes#{run}", words) : @all[run] = words
    end
  end

  # The notes of one request.
  Of = Struct.new(:run) do
    def note(word)
      Notes.write(run, word)
    end
  end
end

# A row of a table.
class Row
  HERE = File.dirname(File.expand_path(__FILE__))

  attr_reader :name, :status, :body, :expected

  def initialize(name, status, body, expected, answer)
    @name = name
    @status = status
    @body = body
    @expected = expected
    @answer = answer
  end

  # What the application answers. The block is given what notes down what is done to a body, and the environment.
  def answer(env, notes)
    @answer.call(notes, env)
  end

  # The name of the file that has the row.
  def table
    File.basename(@answer.source_location.first, ".rb")
  end

  # Whether this server's Ruby has what the row needs.
  def here?(env)
    Array(expected[:needs]).all? { |need| Row.has?(need, env) }
  end

  def self.has?(need, env)
    case need
    when :cruby then RUBY_ENGINE != "mruby"
    when :hijack then env["rack.hijack?"] && RUBY_ENGINE != "mruby"
    when :fifo then File.exist?("#{HERE}/fifo")
    when :rack then Book.rack > 0
    when :rack2 then Book.rack == 2
    when :rack3 then Book.rack == 3
    else raise "a row cannot need #{need}"
    end
  end
end

# All rows, by name.
module Book
  @rows = {}

  class << self
    attr_reader :rack

    def rows
      @rows.values
    end

    # Adds a row. `expected` may say:
    #   length:   the content-length, or nil for none
    #   headers:  names with their lists of values
    #   seen:     what is done to the body, in order; or a list of what may be
    #   cut:      true where the answer breaks off
    #   fails:    true where it has the status, or breaks off
    #   method:, request:  of the request: its method, its headers
    #   needs:    what Ruby and server must have (Row.has?)
    def row(name, status, body = nil, **expected, &answer)
      raise "two rows are called #{name}" if @rows.key?(name)

      @rows[name] = Row.new(name, status, body, expected, answer)
    end

    def find(name)
      @rows[name]
    end

    def here(env)
      rows.select { |row| row.here?(env) }.map(&:name)
    end

    # The release of the Rack that is here; 0 where there is only the server's own Rack::Builder.
    def find_rack
      require "rack"
      @rack = Rack::BodyProxy && Rack.release.to_i
    rescue LoadError, NameError
      @rack = 0
    end
  end
end

# A body that answers what it is made with and nothing else, and notes what it is asked.
class Made
  # `parts`, or the block, is what `each` yields. The others are names of methods with what they return; a lambda is
  # called with the arguments.
  def initialize(notes, parts = nil, **methods, &each)
    each ||= ->(out) { parts.each { |part| out.call(part) } } if parts
    define_singleton_method(:each) { |&out| notes.note("each") && each.call(out) } if each
    methods.each do |name, value|
      define_singleton_method(name) do |*args|
        notes.note(name.to_s)
        value.respond_to?(:call) ? value.call(*args) : value
      end
    end
  end
end

# What one answer has left for another to use, as only a wrong application would: a body's block, a stream.
KEPT = {}

Book.find_rack
%w[arrays lists parts streams files statuses headers hijacks wrapped].each { |name| require_relative name }
