# What programs of the tables in this folder, and those of bin/language-fuzz, are run with, on CRuby and on the embedded
# interpreter: `t` notes values as they are evaluated, and Programs.run gives what a file has noted.

module Programs
  # A program that notes so many values does not end.
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

    # Only what a program says itself is compared word for word: it begins with "m:".
    def said(error)
      message = error.message.to_s
      return "! SyntaxError #{message.split("\n").first}" if error.is_a?(SyntaxError)
      message.start_with?("m:") ? "! #{error.class} #{message}" : "! #{error.class}"
    end

    # Addresses differ from run to run, and the name of the file is not the program's.
    def plain(note)
      note.gsub(/0x[0-9a-f]+/, "0x").gsub("\n", "\\n")
    end
  end
end

# Notes its values, and gives the first back.
def t(*values)
  Programs.note(values.map { |value| value.inspect }.join(" "))
  values[0]
end
