# Exceptions of SQLite under the gem's names, pragmas as methods, and conversion of values to bind.

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
                busy_timeout encoding locking_mode wal_autocheckpoint journal_size_limit temp_store].freeze

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

    %i[table_info table_xinfo index_list index_info foreign_key_list foreign_key_check].each do |name|
      define_method(name) do |of, &block|
        names, *rows = execute2("PRAGMA #{name}(#{SQLite3::Pragmas.word(of)})")
        rows = rows.map { |row| row.is_a?(Hash) ? row : names.zip(row).to_h }
        rows.each { |row| row["type"] = row["type"].downcase if row["type"] }
        block ? rows.each(&block) : rows
      end
    end

    %i[database_list collation_list compile_options integrity_check quick_check optimize wal_checkpoint
       incremental_vacuum shrink_memory].each do |name|
      define_method(name) { |&block| execute("PRAGMA #{name}", &block) }
    end

    # A value as a number or a quoted word, so that it cannot inject SQL.
    def self.word(value)
      return value.to_s if value.is_a?(Integer)
      return value ? "1" : "0" if value == true || value == false
      "'#{value.to_s.gsub("'", "''")}'"
    end
  end
end
