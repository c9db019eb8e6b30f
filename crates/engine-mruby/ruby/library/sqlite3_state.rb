# SQLite3::Database: transactions, counters of changes, and the methods that are not supported.

module SQLite3
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

    %i[create_function create_aggregate create_aggregate_handler define_function define_aggregator busy_handler trace
       authorizer= collation load_extension enable_load_extension].each do |name|
      define_method(name) { |*| raise NotImplementedError, "SQLite3::Database##{name}: #{FoolsGold::HINT}" }
    end

    private

    def tell = FoolsGold::Native.sqlite_tell(handle)
  end
end
