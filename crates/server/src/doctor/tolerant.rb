# Loads an application on the embedded interpreter and goes on when something is missing, so that all of it is found in
# one go. What comes before this text says which: CONFIG. The application that this file runs tells what was found.

module FoolsGoldDoctor
  FOUND = []
  # Constants of libraries that are not there: whatever is asked of them, the answer is one more of them.
  STANDING_IN = {}

  class << self
    def note(kind, name, words, trace)
      place = trace.find { |line| !line.start_with?("foolsgold/", DOCTOR) }.to_s
      same = FOUND.find { |found| found[:kind] == kind && found[:name] == name }
      return same[:places] |= [place] if same
      FOUND << { kind: kind, name: name, words: words, places: [place] }
    end

    def wrong(error)
      # What has stood in for something is no finding of its own.
      return if error.message.include?("FoolsGoldDoctor")
      kind = error.is_a?(NameError) ? "name" : "error"
      name = kind == "name" ? error.name.to_s : error.class.to_s
      note(kind, name, "#{error.class}: #{error.message}", error.backtrace || [])
    end

    def stand_in(owner, name)
      made = Class.new(StandIn)
      path = owner.equal?(Object) ? name.to_s : "#{owner}::#{name}"
      STANDING_IN[path] = true
      owner.const_set(name, made)
    end

    # All names of methods that something here has.
    def names
      found = {}
      walk(Object, {}, found)
      found.keys
    end

    def walk(mod, seen, found)
      return if seen[mod.object_id]
      seen[mod.object_id] = true
      [mod.instance_methods(false), mod.private_instance_methods(false), mod.singleton_methods].each do |names|
        names.each { |name| found[name] = true }
      end
      # On these, it would be another method.
      return if mod <= Module
      mod.constants.each do |name|
        value = begin
          mod.const_get(name)
        rescue StandardError, ScriptError
          nil
        end
        walk(value, seen, found) if value.is_a?(Module)
      end
    end
  end

  # What every class answers that is not there.
  class StandIn
    class << self
      def method_missing(*)
        StandIn
      end

      def respond_to_missing?(name, *)
        !name.to_s.start_with?("to_")
      end

      def new(*)
        allocate
      end
    end

    def method_missing(*)
      StandIn
    end

    def respond_to_missing?(name, *)
      !name.to_s.start_with?("to_")
    end

    def call(_env)
      [500, {}, ["a class that is not there was to answer"]]
    end
  end

  # Takes the place of what raises.
  module Loading
    def require(name)
      super
    rescue LoadError => error
      FoolsGoldDoctor.note("library", name.to_s, error.message, error.backtrace || [])
      false
    rescue StandardError, ScriptError => error
      FoolsGoldDoctor.wrong(error)
      false
    end
  end
end

FoolsGold::Loader.singleton_class.prepend(FoolsGoldDoctor::Loading)

class Module
  alias foolsgold_doctor_missing const_missing

  # Only where a library is missing can a constant be missing for want of it; all else is the application's own doing.
  def const_missing(name)
    foolsgold_doctor_missing(name)
  rescue NameError => error
    lacks = FoolsGoldDoctor::FOUND.any? { |found| found[:kind] == "library" }
    raise unless lacks || FoolsGold::ABSENT.include?(name)
    unless lacks
      path = equal?(Object) ? name.to_s : "#{self}::#{name}"
      FoolsGoldDoctor.note("constant", path, error.message, caller)
    end
    FoolsGoldDoctor.stand_in(self, name)
  end
end

begin
  FoolsGold.root = File.dirname(CONFIG)
  FoolsGold::Builder.load_file(CONFIG)
rescue StandardError, ScriptError, SystemExit => error
  FoolsGoldDoctor.wrong(error)
end

run(lambda do |_env|
  told = { found: FoolsGoldDoctor::FOUND, files: $LOADED_FEATURES, methods: FoolsGoldDoctor.names }
  [200, { "content-type" => "application/json" }, [JSON.generate(told)]]
end)
