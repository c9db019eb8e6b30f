# Runs the programs of the tables in this folder and of bin/language-fuzz, on CRuby and on the embedded interpreter: `t`
# records values when they are evaluated, and Programs.run returns the trace of a file.

module Programs
  # A program that records so many values is taken for an endless one.
  MOST = 400

  class Endless < Exception; end

  class << self
    attr_reader :notes

    def run(path)
      @notes = []
      begin
        load path
      rescue Exception => error
        @notes << said(error)
      end
      @notes.map { |note| plain(note) }
    end

    def note(text)
      raise Endless if @notes.size >= MOST
      @notes << text
    end

    # Only the program's own messages are compared word for word: they begin with "m:".
    def said(error)
      message = error.message.to_s
      return "! SyntaxError #{message.split("\n").first}" if error.is_a?(SyntaxError)
      message.start_with?("m:") ? "! #{error.class} #{message}" : "! #{error.class}"
    end

    # Addresses differ between runs, and the name of the file does not belong to the program.
    def plain(note)
      note.gsub(/0x[0-9a-f]+/, "0x").gsub("\n", "\\n")
    end
  end
end

# Records its values and returns the first.
def t(*values)
  Programs.note(values.map { |value| value.inspect }.join(" "))
  values[0]
end
