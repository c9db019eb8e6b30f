# The links, in SQLite: made, found, counted, retired.

require "sqlite3"
require "securerandom"

class Links
  # A code is taken by another link.
  class Taken < StandardError; end

  # The file can be read and not written.
  class ReadOnly < StandardError; end

  # Without those that are mistaken for others when read aloud or copied by hand.
  LETTERS = "23456789abcdefghjkmnpqrstuvwxyz".chars.freeze
  CODE_LENGTH = 6
  DAY = 86_400

  SCHEMA = <<~SQL
    create table if not exists links (
      code text primary key, url text not null, owner text, made integer not null,
      ends integer, retired integer not null default 0, visits integer not null default 0, visited integer
    ) without rowid;
    create index if not exists links_by_owner on links (owner, made desc);
    create table if not exists visits (
      code text not null, day text not null, count integer not null, primary key (code, day)
    ) without rowid;
    create table if not exists settings (name text primary key, value text not null) without rowid;
  SQL

  # One connection for each thread that asks, as SQLite likes it best.
  def self.open(path)
    Thread.current[:links] ||= new(path)
  end

  def initialize(path)
    @writable = true
    @db = SQLite3::Database.new(path, results_as_hash: true)
    @db.busy_timeout = 2000
    @db.execute("pragma journal_mode = wal")
    @db.execute("pragma synchronous = normal")
    @db.execute_batch(SCHEMA)
    # Where all is there already, this is the first to find out whether the file can be written.
    @db.execute("insert or ignore into settings values ('secret', ?)", [SecureRandom.hex(32)])
  rescue SQLite3::ReadOnlyException, SQLite3::CantOpenException
    raise unless File.file?(path)
    open_to_read(path)
  end

  # What sessions are signed with: made once, the same for all processes that use this file.
  def secret
    @db.get_first_row("select value from settings where name = 'secret'")["value"]
  end

  # The new link. Taken where the wished code is in use.
  def make(url, owner: nil, code: nil, days: nil, now: Time.now)
    wished = code
    begin
      code = wished || Array.new(CODE_LENGTH) { LETTERS[SecureRandom.random_number(LETTERS.size)] }.join
      ends = days && now.to_i + days * DAY
      write do
        @db.execute("insert into links (code, url, owner, made, ends) values (?, ?, ?, ?, ?)",
                    [code, url, owner, now.to_i, ends])
      end
    rescue SQLite3::ConstraintException
      raise Taken, "the code #{wished} is taken" if wished
      retry
    end
    find(code)
  end

  def find(code)
    @db.get_first_row("select * from links where code = ?", [code])
  end

  # Whether it still leads somewhere.
  def live?(link, now: Time.now)
    link["retired"] == 0 && (link["ends"].nil? || link["ends"] > now.to_i)
  end

  # A link is followed even where nobody can count it.
  def count_visit(code, now: Time.now)
    write do
      @db.transaction(:immediate) do
        @db.execute("update links set visits = visits + 1, visited = ? where code = ?", [now.to_i, code])
        @db.execute("insert into visits values (?, ?, 1) on conflict do update set count = count + 1",
                    [code, now.getutc.strftime("%Y-%m-%d")])
      end
    end
  rescue ReadOnly
    nil
  end

  # [["2026-11-21", 3], ...]: the last days, also those without a visit.
  def days_of(code, days, now: Time.now)
    counts = @db.execute("select day, count from visits where code = ? order by day desc limit ?", [code, days])
    counts = counts.map { |row| [row["day"], row["count"]] }.to_h
    (1 - days..0).map do |at|
      day = (now + at * DAY).getutc.strftime("%Y-%m-%d")
      [day, counts[day] || 0]
    end
  end

  def of_owner(owner, limit = 50)
    @db.execute("select * from links where owner = ? and retired = 0 order by made desc, code limit ?", [owner, limit])
  end

  def retire(code)
    write { @db.execute("update links set retired = 1 where code = ?", [code]) }
  end

  private

  def open_to_read(path)
    @writable = false
    @db = SQLite3::Database.new(path, results_as_hash: true, readonly: true)
    @db.busy_timeout = 2000
    raise ReadOnly, "#{path} can only be read, and there are no links in it" unless secret
    warn "#{path} can only be read: links are followed, and none are made"
  rescue SQLite3::Exception => error
    raise ReadOnly, "#{path} cannot be written, and not be read either: #{error.message}"
  end

  def write
    raise ReadOnly unless @writable
    yield
  rescue SQLite3::ReadOnlyException
    raise ReadOnly
  end
end
