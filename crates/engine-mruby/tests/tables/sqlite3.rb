# Creates the database for sqlite3.txt: ruby -r./sqlite3.rb answers.rb sqlite3.txt. The tests load this file as well.

require "sqlite3"

def fresh
  db = SQLite3::Database.new(":memory:")
  db.execute_batch(<<~SQL)
    create table t (id integer primary key, name text not null, score real);
    insert into t values (1, 'one', 1.5), (2, 'two', null), (3, 'three', 3.0);
  SQL
  db
end
