# gems: sequel
# ask: / /model /errors
require "sequel"

DB = Sequel.mock(host: :sqlite, fetch: [{ id: 1, name: "Ann" }, { id: 2, name: "Bob" }], columns: %i[id name])
class Album < Sequel::Model(DB[:albums])
  plugin :validation_helpers
  def validate
    super
    validates_presence :name
    validates_max_length 5, :name
  end
end

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/model"
      album = Album.new(name: "much too long")
      [album.valid?, album.errors.full_messages, Album.first.name, Album.where(id: [1, 2]).map(&:id), DB.sqls.last]
    when "/errors" then [(DB[:a].where("x").sql rescue $!.class), (Album.new(other: 1) rescue $!.class)]
    else
      albums = DB[:albums].join(:artists, id: :artist_id).where { (year > 1990) & Sequel.like(:name, "A%") }
      [albums.order(Sequel.desc(:name)).limit(3, 2).sql, albums.exclude(a: nil).group_and_count(:b).sql,
       DB[:t].insert_sql(d: Date.new(2026, 1, 2), f: 1.5, b: true, s: "it's"), DB[:t].update_sql(n: Sequel[:n] + 1)]
    end
  [200, {}, [found.inspect]]
end)
