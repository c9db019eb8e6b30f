# SQLite3::ResultSet: the rows of a statement, one after the other.

module SQLite3
  class ResultSet
    include Enumerable

    def initialize(database, statement)
      @database = database
      @statement = statement
      @row = nil
    end

    def reset(*values)
      @row = nil
      @statement.reset!
      @statement.bind_params(*values)
    end

    # Whether there is no further row. Reads one row ahead, so that this is true right after the last row; the gem needs
    # one more step.
    def eof?
      @row ||= @statement.step
      @row.nil?
    end

    def next
      row = @row || @statement.step
      @row = nil
      row
    end

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
end
