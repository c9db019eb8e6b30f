# SQLite with the API of the gem sqlite3, version 2. Rust returns rows in pieces, and keeps prepared statements for the
# next use.

%w[parts state statement rows].each { |part| FoolsGold::Loader.library("foolsgold/sqlite3_#{part}") }

module SQLite3
  class Database
    include Pragmas
    include State

    attr_accessor :results_as_hash

    class << self
      alias open new

      def quote(text) = text.gsub("'", "''")
    end

    # Opens a database: with `readonly: true` for reading, with `readwrite: true` only an existing file; else the file
    # is created. A statement waits for a lock for 5 seconds, or as busy_timeout says.
    def initialize(file, options = {}, _vfs = nil, **more)
      options = options.merge(more)
      file = File.path(file)
      @readonly = options[:readonly] ? true : false
      mode = @readonly ? 0 : (options[:readwrite] ? 1 : 2)
      @handle = FoolsGold.with_room { FoolsGold::Native.sqlite_open(file, mode) }
      @filename = file.empty? || file == ":memory:" ? "" : File.expand_path(file)
      @results_as_hash = options[:results_as_hash] ? true : false
      @mode = options[:default_transaction_mode] || :deferred
      self.busy_timeout = options[:timeout] if options[:timeout]
      return unless block_given?
      begin
        yield self
      ensure
        close
      end
    end

    # Runs a statement and returns all rows, or passes each to the block.
    def execute(sql, values = [], *more, &block)
      rows = run(sql, SQLite3.values(values, more), false)
      rows.shift
      return rows unless block
      rows.each(&block)
      nil
    end

    # Like execute, with the names of the columns before the rows.
    def execute2(sql, *values, &block)
      rows = run(sql, SQLite3.values(values, []), true)
      block ? rows.each(&block) && nil : rows
    end

    # Runs all statements of a text, one after the other.
    def execute_batch(sql, values = [], *more)
      values = SQLite3.values(values, more)
      result = nil
      each_statement(sql) do |statement|
        statement.bind_params(*values) if statement.bind_parameter_count > 0
        result = statement.to_a
      end
      result
    end

    def execute_batch2(sql)
      rows = []
      each_statement(sql) { |statement| rows.concat(statement.to_a) }
      block_given? ? rows.each { |row| yield row } : rows
    end

    # Runs a statement and returns a ResultSet, or passes it to the block and closes it.
    def query(sql, values = [], *more)
      result = prepare(sql).execute(*SQLite3.values(values, more))
      return result unless block_given?
      begin
        yield result
      ensure
        result.close
      end
    end

    def prepare(sql)
      statement = Statement.new(self, sql)
      return statement unless block_given?
      begin
        yield statement
      ensure
        statement.close unless statement.closed?
      end
    end

    def get_first_row(sql, *values)
      run(sql, SQLite3.values(values, []), false)[1]
    end

    def get_first_value(sql, *values)
      row = get_first_row(sql, *values)
      row.is_a?(Hash) ? row.values.first : row&.first
    end

    def readonly? = @readonly
    def filename(_name = "main") = @filename
    def complete?(sql) = sql.strip.end_with?(";")
    def closed? = @handle.nil?
    def interrupt = nil

    def close
      FoolsGold::Native.handle_close(@handle) if @handle
      @handle = nil
      self
    end

    # The handle of the connection, for statements.
    def handle
      @handle || raise(ArgumentError, "prepare called on a closed database")
    end

    def inspect = "#<SQLite3::Database #{@filename.inspect}>"

    private

    # The columns (nil unless `named`) and the rows. Rust returns the handle of the statement where there are more rows
    # than fit in one piece; the others are fetched here.
    def run(sql, values, named)
      rows = FoolsGold.with_room { FoolsGold::Native.sqlite_execute(handle, sql, values, @results_as_hash, named) }
      return [nil] if rows.nil?
      return rows unless rows.is_a?(FoolsGold::Handle)
      statement = Statement.of(self, rows)
      [named ? statement.columns : nil, *statement.to_a]
    ensure
      statement&.close
    end

    def each_statement(sql)
      sql = sql.strip
      until sql.empty?
        statement = Statement.new(self, sql)
        break statement.close if statement.empty?
        begin
          yield statement
          sql = statement.remainder
        ensure
          statement.close
        end
      end
    end
  end
end
