# SQLite3::Statement: a prepared statement.

module SQLite3
  class Statement
    include Enumerable

    attr_reader :remainder

    # A Statement for the handle of a statement that Rust has prepared.
    def self.of(database, handle)
      statement = allocate
      statement.__send__(:take, database, handle, "")
      statement
    end

    def initialize(database, sql)
      handle = FoolsGold.with_room { FoolsGold::Native.sqlite_prepare(database.handle, sql) }
      take(database, handle, handle ? sql.byteslice(FoolsGold::Native.sqlite_used(handle), sql.bytesize).strip : "")
    end

    def bind_param(key, value)
      FoolsGold::Native.sqlite_bind(open!, key, SQLite3.value(value))
      nil
    end

    def bind_params(*values)
      FoolsGold::Native.sqlite_bind(open!, nil, SQLite3.values(values, [])) unless values.empty?
      self
    end

    def clear_bindings!
      FoolsGold::Native.sqlite_bind(open!)
      self
    end

    # Starts the statement again. One without columns, such as an INSERT, is run at once.
    def execute(*values)
      reset!
      bind_params(*values)
      result = ResultSet.new(@database, self)
      step if column_count == 0
      block_given? ? yield(result) : result
    end

    def execute!(*values, &block)
      execute(*values)
      block ? each(&block) : to_a
    end

    # The next row, or nil behind the last one.
    def step
      @began = true
      pieces(1).first
    end

    def each
      return to_enum(:each) unless block_given?
      until done?
        pieces(nil).each { |row| yield row }
      end
      self
    end

    def to_a
      rows = []
      rows.concat(pieces(nil)) until done?
      rows
    end

    def reset!
      FoolsGold::Native.sqlite_reset(open!)
      @done = @began = false
      self
    end

    def done? = @done
    def active? = !@done
    def empty? = @empty
    def columns = about[0]
    def types = about[1].map { |type| type&.downcase }
    def column_count = columns.size
    def column_name(at) = columns[at]
    def column_decltype(at) = about[1][at]
    def bind_parameter_count = @empty ? 0 : about[2]
    def readonly? = about[3]
    def closed? = @closed

    def close
      raise Exception, "cannot use a closed statement" if @closed
      FoolsGold::Native.handle_close(@handle) if @handle
      @handle = nil
      @closed = true
      self
    end

    private

    def take(database, handle, remainder)
      @database = database
      @handle = handle
      @remainder = remainder
      @empty = handle.nil?
      @done = @empty
      @closed = false
    end

    def open!
      raise Exception, "cannot use a closed statement" if @closed
      @handle || raise(Exception, "the SQL has no statement")
    end

    def about = FoolsGold::Native.sqlite_about(open!)

    # The next rows. Rust returns whether they are the last, and then the rows.
    def pieces(most)
      return [] if @done
      last, *rows = FoolsGold::Native.sqlite_fetch(open!, @database.results_as_hash, most)
      @done = last
      rows
    end
  end
end
