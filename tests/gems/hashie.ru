# gems: hashie
# ask: / /dash /more
require "hashie"

class Person < Hashie::Dash
  property :name, required: true
  property :age, default: 7
end

class Wide < Hash
  include Hashie::Extensions::MergeInitializer
  include Hashie::Extensions::IndifferentAccess
  include Hashie::Extensions::DeepMerge
end

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/dash"
      [Person.new(name: "Ann").to_h, (Person.new(age: 3) rescue [$!.class, $!.message]),
        (Person.new(name: 1)[:x] rescue $!.class)]
    when "/more"
      wide = Wide.new("a" => { b: 1 }).deep_merge("a" => { "c" => 2 })
      [wide[:a], wide["a"], Hashie::Clash.new.where(x: 1).order(:y).to_h, Hashie::Rash.new(/^a/ => 1)["ab"]]
    else
      mash = Hashie::Mash.new(name: "X", list: [{ a: 1 }], deep: { er: { still: 1 } })
      [mash.name, mash.list.first.a, mash.deep.er.still, mash.none?, mash.missing, mash.to_hash, mash.new_key!.class]
    end
  [200, {}, [found.inspect]]
end)
