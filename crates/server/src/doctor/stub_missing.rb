# Loads an application on the embedded interpreter and reports what is missing. A line before this text sets CONFIG, its
# file, and SPARED, what to leave out: pairs of a kind (library, constant, file) and a name. Without any, loading is the
# same as in the server. If something ends the loading, the doctor loads again with that left out, too: so it finds
# everything that is missing, except what the code itself rescues. The Rack application at the end returns the report.

module FoolsGoldDoctor
  FOUND = []
  # Missing libraries, whose LoadError the application may have rescued.
  TRIED = []
  # Exceptions, each with its cause: kind and name.
  CAUSES = []

  class << self
    def note(kind, name, words, trace)
      place = trace.find { |line| !line.start_with?("foolsgold/", DOCTOR) }.to_s
      same = FOUND.find { |found| found[:kind] == kind && found[:name] == name }
      return same[:places] |= [place] if same
      FOUND << { kind: kind, name: name, words: words, places: [place] }
    end

    def wrong(error)
      # An error of a stub is no finding of its own.
      return if error.message.include?("FoolsGoldDoctor")
      kind = error.is_a?(NameError) ? "name" : "error"
      name = kind == "name" ? error.name.to_s : error.class.to_s
      note(kind, name, "#{error.class}: #{error.message}", error.backtrace || [])
    end

    def cause(error)
      CAUSES.find { |one, _| one.equal?(error) }&.last
    end

    # Called when a `require` raises; whether loading goes on without it. The innermost `require` counts.
    def failed(name, error)
      known = cause(error)
      missing = error.is_a?(LoadError)
      unless known
        known = [missing ? "library" : "file", name]
        CAUSES << [error, known]
        TRIED << name if missing
      end
      return false unless known.last == name && SPARED.include?(known)
      missing ? note("library", name, error.message, error.backtrace || []) : wrong(error)
      true
    end

    # The same for a constant that only CRuby has.
    def absent(path, error)
      CAUSES << [error, ["constant", path]]
      return false unless SPARED.include?(["constant", path])
      note("constant", path, error.message, caller)
      true
    end

    def stand_in(owner, name)
      owner.const_set(name, Class.new(StandIn))
    end

    # Names of all methods of all objects here.
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
      # Methods of these are called on classes, so they are others.
      return if mod <= Module
      mod.constants.each { |name| walk_constant(mod, name, seen, found) }
    end

    # An autoload is not triggered, except for the interpreter's own classes.
    def walk_constant(mod, name, seen, found)
      waits = FoolsGold.waits_for(mod, name)
      own = waits && (waits.start_with?("foolsgold/") || FoolsGold::Loader.built_in?(waits))
      return if waits && !(own && mod.equal?(Object))
      value = mod.const_get(name)
      walk(value, seen, found) if value.is_a?(Module)
    rescue StandardError, ScriptError
      nil
    end

    def report(ended)
      files = $LOADED_FEATURES.dup
      gems = FoolsGold::Loader.gems.all.select { |gem| files.any? { |file| file.start_with?("#{gem.folder}/") } }
      gems = gems.map { |gem| { name: "#{gem.name}-#{gem.version}", folder: gem.folder, paths: gem.paths } }
      { found: FOUND.dup, tried: TRIED.uniq, ended: ended, files: files, gems: gems, methods: ended ? [] : names }
    end
  end

  # Stub of a missing class: every method returns the stub.
  class StandIn
    class << self
      def method_missing(*) = StandIn
      def respond_to_missing?(name, *) = !name.to_s.start_with?("to_")
      def new(*) = allocate
    end

    def method_missing(*) = StandIn
    def respond_to_missing?(name, *) = !name.to_s.start_with?("to_")
    def call(_env) = [500, {}, ["a class that is not there was to answer"]]
  end

  module Loading
    def require(name)
      super
    rescue StandardError, ScriptError => error
      raise unless FoolsGoldDoctor.failed(name.to_s, error)
      false
    end
  end
end

FoolsGold::Loader.singleton_class.prepend(FoolsGoldDoctor::Loading)

class Module
  alias foolsgold_doctor_missing const_missing

  # A constant can only be missing because of a missing library; otherwise it is an error of the application.
  def const_missing(name)
    foolsgold_doctor_missing(name)
  rescue NameError => error
    lacks = FoolsGoldDoctor::FOUND.any? { |found| found[:kind] == "library" }
    path = equal?(Object) ? name.to_s : "#{self}::#{name}"
    raise unless lacks || (FoolsGold::ABSENT.include?(name) && FoolsGoldDoctor.absent(path, error))
    FoolsGoldDoctor.stand_in(self, name)
  end
end

ended = nil
begin
  FoolsGold.root = File.dirname(CONFIG)
  FoolsGold::Builder.load_file(CONFIG)
rescue StandardError, ScriptError, SystemExit => error
  ended = FoolsGoldDoctor.cause(error)
  FoolsGoldDoctor.wrong(error) unless ended
end

report = FoolsGoldDoctor.report(ended)
run ->(_env) { [200, { "content-type" => "application/json" }, [JSON.generate(report)]] }
