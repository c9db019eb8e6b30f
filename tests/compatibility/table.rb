# frozen_string_literal: true

# The cases, in sections and in order. A case has a name, what is done with a server, and why FoolsGold's outcome is
# another than Puma's where that is a decision.

# One row of the page. The block is given a Session and returns the words of a cell.
Case = Struct.new(:section, :name, :app, :why, :without, :run, keyword_init: true)

# A heading, a sentence below it, and the rows; `part` is the heading above, with the sentence below that.
Section = Struct.new(:part, :title, :words, :cases)

module Table
  @sections = []

  class << self
    attr_reader :sections

    def part(title, words)
      @part = [title, words]
    end

    def section(title, words)
      @sections << Section.new(@part, title, words, [])
    end

    # `app` names the application the server serves: a file of apps/, or :environment, or :answers. `without` says of
    # servers why they have no cell: name => reason.
    def row(name, app: :environment, why: nil, without: {}, &run)
      raise "two cases are called #{name}" if cases.any? { |other| other.name == name }

      @sections.last.cases << Case.new(section: @sections.last.title, name: name, app: app, why: why,
                                       without: without, run: run)
    end

    def cases = @sections.flat_map(&:cases)
  end
end
