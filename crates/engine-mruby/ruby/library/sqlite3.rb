# SQLite with the API of the gem sqlite3, version 2. Rust returns rows in pieces, and keeps prepared statements for the
# next use.

module SQLite3
  VERSION = "2.0.0"
  SQLITE_VERSION = FoolsGold::Native.sqlite_version

  def self.libversion
    SQLITE_VERSION.split(".").inject(0) { |sum, part| sum * 1000 + part.to_i }
  end

  def self.threadsafe
    1
  end

  # A String that is bound as a blob, even where it is valid UTF-8.
  class Blob < String; end

  # An error of SQLite; `code` is its primary result code.
  class Exception < ::StandardError
    CODE = nil

    def code = self.class::CODE
  end

  %i[SQL Internal Permission Abort Busy Locked Memory ReadOnly Interrupt IO Corrupt NotFound Full CantOpen Protocol
     Empty SchemaChanged TooBig Constraint Mismatch Misuse Unsupported Authorization Format Range
     NotADatabase].each_with_index do |name, at|
    const_set("#{name}Exception", Class.new(Exception)).const_set(:CODE, at + 1)
  end

  # The values of a call as one Array for Rust, in which a Blob is an Array with one String.
  def self.values(values, more)
    values = [values] unless values.is_a?(Array)
    values = [*values, *more] unless more.empty?
    values.flatten.map { |one| one.is_a?(Hash) ? one.transform_values { |each| value(each) } : value(one) }
  end

  def self.value(one)
    one.is_a?(Blob) ? [String.new(one)] : one
  end

  # Pragmas as methods: db.journal_mode = "wal", db.table_info("links").
  module Pragmas
    BOOLEANS = %i[foreign_keys query_only recursive_triggers automatic_index case_sensitive_like
                  ignore_check_constraints defer_foreign_keys secure_delete].freeze
    VALUES = %i[journal_mode synchronous cache_size page_size max_page_count user_version application_id auto_vacuum
                busy_timeout encoding locking_mode wal_autocheckpoint wal_checkpoint journal_size_limit
                temp_store].freeze

    (BOOLEANS + VALUES).each do |name|
      define_method("#{name}=") { |value| execute("PRAGMA #{name}=#{SQLite3::Pragmas.word(value)}") && value }
      # State defines busy_timeout as the setter of the gem.
      next if name == :busy_timeout
      define_method(name) do
        value = get_first_value("PRAGMA #{name}")
        BOOLEANS.include?(name) ? value != 0 : value
      end
    end

    %i[page_count freelist_count schema_version data_version].each do |name|
      define_method(name) { get_first_value("PRAGMA #{name}") }
    end

    %i[table_info table_xinfo].each do |name|
      define_method(name) do |of, &block|
        names, *rows = execute2("PRAGMA #{name}(#{SQLite3::Pragmas.word(of)})")
        rows = rows.map { |row| row.is_a?(Hash) ? row : names.zip(row).to_h }
        rows.each do |row|
          row["type"] = row["type"].downcase if row["type"]
          row["dflt_value"] = SQLite3::Pragmas.plain(row["dflt_value"]) if row["dflt_value"]
        end
        block ? rows.each(&block) : rows
      end
    end

    # Rows as those of any query; some take the name of a table or index, or a number.
    %i[index_list index_info index_xinfo foreign_key_list foreign_key_check database_list collation_list
       compile_options integrity_check quick_check optimize incremental_vacuum shrink_memory].each do |name|
      define_method(name) do |*of, &block|
        list = "(#{of.map { |one| SQLite3::Pragmas.word(one) }.join(", ")})" unless of.empty?
        execute("PRAGMA #{name}#{list}", &block)
      end
    end

    # A column's default, which SQLite returns as SQL, without its quotes.
    def self.plain(text)
      case text
      when /\Anull\z/i then nil
      when /\A'(.*)'\z/m then $1.gsub("''", "'")
      when /\A"(.*)"\z/m then $1.gsub('""', '"')
      else text
      end
    end

    # A value as a number or a quoted word, so that it cannot inject SQL.
    def self.word(value)
      return value.to_s if value.is_a?(Integer)
      return value ? "1" : "0" if value == true || value == false
      "'#{value.to_s.gsub("'", "''")}'"
    end
  end

  # Transactions, counters of changes, and the methods that are not supported.
  module State
    # Begins a transaction. With a block, commits after it and rolls back where it raises.
    def transaction(mode = nil)
      execute("begin #{mode || @mode} transaction")
      return true unless block_given?
      done = false
      begin
        result = yield(self)
        done = true
        result
      rescue ::Exception
        # SQLite itself rolls back where a statement was interrupted, or the disk was full.
        rollback if transaction_active?
        done = :not
        raise
      ensure
        commit if done != :not && transaction_active?
      end
    end

    def commit = execute("commit transaction") && true
    def rollback = execute("rollback transaction") && true
    def transaction_active? = tell[3]
    def changes = tell[0]
    def total_changes = tell[1]
    def last_insert_row_id = tell[2]
    def busy_timeout=(milliseconds)
      FoolsGold::Native.sqlite_busy(handle, milliseconds)
    end
    alias busy_timeout busy_timeout=
    alias busy_handler_timeout= busy_timeout=

    names = %i[create_function create_aggregate create_aggregate_handler define_function define_aggregator busy_handler
               trace authorizer= collation load_extension enable_load_extension]
    FoolsGold.refuse(self, names, "SQLite3::Database#")

    private

    def tell = FoolsGold::Native.sqlite_tell(handle)
  end

  # A prepared statement.
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
      yield result if block_given?
      result
    end

    def execute!(*values, &block)
      execute(*values)
      block ? each(&block) : to_a
    end

    # The next row, or nil behind the last one. Rows of a statement itself are Arrays, whatever results_as_hash says;
    # the methods of Database and ResultSet ask for Hashes.
    def step(hashes = false)
      pieces(1, hashes).first
    end

    # Row by row: the next `step` or `each` continues after the last row that the block got.
    def each
      return to_enum(:each) unless block_given?
      while (row = step)
        yield row
      end
      self
    end

    # The remaining rows, read in pieces. Only for a statement that is closed afterwards: a block that ends early loses
    # the rest of a piece.
    def each_in_pieces(hashes)
      until done?
        pieces(nil, hashes).each { |row| yield row }
      end
    end

    def to_a(hashes = false)
      rows = []
      rows.concat(pieces(nil, hashes)) until done?
      rows
    end

    def reset!
      FoolsGold::Native.sqlite_reset(open!)
      @done = false
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
    def pieces(most, hashes)
      return [] if @done
      last, *rows = FoolsGold::Native.sqlite_fetch(open!, hashes, most)
      @done = last
      rows
    end
  end

  # The rows of a statement, one after the other.
  class ResultSet
    include Enumerable

    def initialize(database, statement)
      @hashes = database.results_as_hash
      @statement = statement
    end

    def reset(*values)
      @statement.reset!
      @statement.bind_params(*values)
    end

    # Whether `next` has returned nil. Does not read ahead: other readers of the statement would miss that row.
    def eof? = @statement.done?
    def next = @statement.step(@hashes)

    def each
      return to_enum(:each) unless block_given?
      while (row = self.next)
        yield row
      end
      self
    end

    def next_hash
      row = self.next
      row.nil? || row.is_a?(Hash) ? row : columns.zip(row).to_h
    end

    def each_hash
      return to_enum(:each_hash) unless block_given?
      while (row = next_hash)
        yield row
      end
    end

    def columns = @statement.columns
    def types = @statement.types
    def close = @statement.close
    def closed? = @statement.closed?
  end

  class Database
    include Pragmas
    include State

    attr_accessor :results_as_hash

    class << self
      include FoolsGold::Opening

      def quote(text) = text.gsub("'", "''")
    end

    # Opens a database: with `readonly: true` for reading, with `readwrite: true` only an existing file; else the file
    # is created. A statement waits for a lock for 5 seconds, or as busy_timeout says.
    def initialize(file, options = {}, _vfs = nil, **more, &block)
      options = options.merge(more)
      file = File.path(file)
      @readonly = options[:readonly] ? true : false
      mode = @readonly ? 0 : (options[:readwrite] ? 1 : 2)
      @handle = FoolsGold.with_room { FoolsGold::Native.sqlite_open(file, mode) }
      @filename = file.empty? || file == ":memory:" ? "" : File.expand_path(file)
      @results_as_hash = options[:results_as_hash] ? true : false
      @mode = options[:default_transaction_mode] || :deferred
      self.busy_timeout = options[:timeout] if options[:timeout]
      FoolsGold.closing(self, &block) if block
    end

    # Runs a statement and returns all rows, or passes each to the block.
    def execute(sql, values = [], *more, &block)
      rows = run(sql, SQLite3.values(values, more), false, &block)
      rows.shift
      return rows unless block
      rows.each(&block)
      nil
    end

    # Like execute, with the names of the columns before the rows.
    def execute2(sql, *values, &block)
      rows = run(sql, SQLite3.values(values, []), true, &block)
      block ? rows.each(&block) && nil : rows
    end

    # Runs all statements of a text, one after the other, and returns the first row of the last one, nil without rows.
    def execute_batch(sql, values = [], *more)
      count = values.size if values.is_a?(Hash)
      values = SQLite3.values(values, more)
      count ||= values.size
      result = nil
      each_statement(sql) do |statement|
        # In statements with another number of parameters these are NULL, as in the gem.
        statement.bind_params(*values) if statement.bind_parameter_count == count
        result = statement.step
      end
      result
    end

    # Runs all statements of a text and returns all their rows, with all values as texts; with a block, its results.
    def execute_batch2(sql, &block)
      rows = []
      each_statement(sql) { |statement| rows.concat(statement.to_a(@results_as_hash)) }
      rows.map! { |row| row.is_a?(Hash) ? row.transform_values { |one| one&.to_s } : row.map { |one| one&.to_s } }
      block ? rows.map(&block) : rows
    end

    # Runs a statement and returns a ResultSet, or passes it to the block and closes it.
    def query(sql, values = [], *more, &block)
      result = prepare(sql).execute(*SQLite3.values(values, more))
      block ? FoolsGold.closing(result, &block) : result
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

    # The block is called only where there are more rows than fit in one piece, which are then not fetched.
    def get_first_row(sql, *values)
      run(sql, SQLite3.values(values, []), false) { |row| return row }[1]
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
    # than fit in one piece. The others are fetched here; with a block they are passed to it, piece by piece, and none
    # is returned.
    def run(sql, values, named, &block)
      rows = FoolsGold.with_room { FoolsGold::Native.sqlite_execute(handle, sql, values, @results_as_hash, named) }
      return [nil] if rows.nil?
      return rows unless rows.is_a?(FoolsGold::Handle)
      statement = Statement.of(self, rows)
      if block
        yield statement.columns if named
        statement.each_in_pieces(@results_as_hash, &block)
        return []
      end
      [named ? statement.columns : nil, *statement.to_a(@results_as_hash)]
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
