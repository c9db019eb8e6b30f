# frozen_string_literal: true

# docs/compatibility.md: written from the cells of a run, and read back for --check.

class Page
  NONE = "–"

  # The cells of a page: case => { column => words }. A table of two columns has those that are the same for all.
  def self.read(text)
    columns = nil
    text.each_line.with_object({}) do |line, found|
      next columns = nil unless line.start_with?("|")

      cells = line.strip.delete_prefix("|").delete_suffix("|").split(/(?<!\\)\|/).map(&:strip)
      if cells.first == "case" then columns = cells.drop(1)
      elsif columns && !cells.first.match?(/\A-+\z/)
        words = cells.drop(1).map { |cell| plain(cell.delete_prefix("**").delete_suffix("**").gsub(/\[\^.+?\]/, "")) }
        found[plain(cells.first)] = columns == ["all"] ? Hash.new(words.first) : columns.zip(words).to_h
      end
    end
  end

  def self.plain(cell) = cell.gsub("\\|", "|")

  def initialize(sections, servers, cells)
    @sections = sections
    @servers = servers
    @cells = servers.zip(cells).to_h
    @notes = []
  end

  def text
    parts = @sections.group_by(&:part).map do |(title, words), sections|
      ["## #{title}", "", words, "", *sections.map { |one| section(one) }].join("\n")
    end
    [head, summary, *parts, notes].compact.join("\n")
  end

  private

  def head
    versions = @servers.reject(&:ours?).map { |server| "#{server.title} #{server.version}" }.join(", ")
    puma = @servers.find { |server| server.name == "puma" }
    <<~HEAD
      # Compatibility

      What each server does with the same bytes, the same answers of an application, and the same bad days. All cells
      come from a run of `bin/compatibility`; none is written by hand. The cases are in `tests/compatibility/cases`.

      - #{versions}, and FoolsGold #{@servers.last.version}:
        *FoolsGold* is `--engine ruby`, *embedded* is `--engine mruby`.
      - #{ruby_of(puma)}
      - #{Etc.uname[:sysname]} on #{Etc.uname[:machine]}, #{Time.now.utc.strftime("%B %Y")}. Each server on 127.0.0.1 in
        production mode, one worker with one thread where nothing else is said, all else as it is by default.

      A cell has the status that came, or `closed` (the connection ended without an answer), `hangs` (nothing for
      #{Wire::SILENCE_S} seconds), `cut off` (an answer that broke off), `no HTTP` (bytes without a status). **Bold** is
      what differs from Puma. Where that is a decision, the last column gives the reason. `#{NONE}` is what a server has
      no means for. What is the same on all servers is folded.
    HEAD
  end

  def ruby_of(puma)
    machine = "Ruby #{RUBY_VERSION}"
    return "All on #{machine}." unless puma&.home == "ring"

    ring, = Open3.capture2e("chroot", Contender::RING, "env", "-i", "PATH=/usr/bin:/bin", "ruby", "--version")
    "Puma on Ruby #{ring[/\d+\.\d+\.\d+/]}; the others on #{machine}."
  end

  KINDS = { same: "as Puma", decision: "differs by decision", open: "differs", alone: "not on Puma" }.freeze

  def summary
    rows = @sections.map { |section| counts("[#{section.title}](##{anchor(section.title)})", section.cases) }
    ["## Summary", "", "| | cases | #{KINDS.values.join(" | ")} |", "| --- |#{" --: |" * (KINDS.size + 1)}",
     *rows, counts("all", @sections.flat_map(&:cases)), ""].join("\n")
  end

  def counts(title, cases)
    kinds = cases.map { |one| kind(one) }
    "| #{title} | #{cases.size} | #{KINDS.keys.map { |kind| kinds.count(kind) }.join(" | ")} |"
  end

  def anchor(title) = title.downcase.gsub(/[^a-z0-9_ -]/, "").tr(" ", "-")

  # Whether both engines do what Puma does; of those that have a cell.
  def kind(one)
    cells = ours.map { |server| cell(server, one) }.compact
    return :alone if puma.nil? || cells.empty? || puma_cell(one).nil?
    return :same if cells.all? { |words| words == puma_cell(one) }

    one.why ? :decision : :open
  end

  def alike?(one)
    @servers.size > 1 && @servers.map { |server| cell(server, one) }.uniq.size == 1 && !cell(@servers.first, one).nil?
  end

  def ours = @servers.select(&:ours?)
  def puma = @servers.find { |server| server.name == "puma" }
  def puma_cell(one) = puma && cell(puma, one)
  def cell(server, one) = @cells.fetch(server)[one.name]

  # What differs is first; what is the same for all takes no room.
  def section(section)
    groups = section.cases.group_by { |one| kind(one) }
    alike, same = [*groups[:same]].partition { |one| alike?(one) }
    differing = [*groups[:open], *groups[:decision]]
    ["### #{section.title}", "", section.words, "", *block(nil, differing, true),
     *block(differing.empty? ? nil : "As Puma:", [*same, *groups[:alone]], false), *folded(alike)].join("\n")
  end

  def block(title, cases, why)
    return [] if cases.empty?

    [*([title, ""] if title), *table(cases, why), ""]
  end

  def folded(cases)
    return [] if cases.empty?

    rows = cases.map { |one| "| #{escape(one.name)} | #{escape(cell(@servers.first, one))} |" }
    ["<details><summary>The same on all: #{cases.size}</summary>", "", "| case | all |", "| --- | --- |", *rows, "",
     "</details>", ""]
  end

  def table(cases, why)
    why &&= cases.any?(&:why)
    titles = @servers.map(&:title)
    ["| case | #{titles.join(" | ")} |#{" why |" if why}", "| --- |#{" --- |" * (titles.size + (why ? 1 : 0))}",
     *cases.map { |one| row(one, why) }]
  end

  def row(one, why)
    cells = @servers.map do |server|
      words = cell(server, one)
      next "#{NONE}#{note(one.without[server.name])}" if words.nil?

      differs = server.ours? && puma && puma_cell(one) && words != puma_cell(one)
      differs ? "**#{escape(words)}**" : escape(words)
    end
    "| #{escape(one.name)} | #{cells.join(" | ")} |#{" #{escape(kind(one) == :decision ? one.why : "")} |" if why}"
  end

  def escape(words) = words.gsub("|", "\\|").gsub("\n", " ")

  # The mark of a footnote with this text.
  def note(text)
    @notes << text unless @notes.include?(text)
    "[^#{@notes.index(text) + 1}]"
  end

  def notes
    return if @notes.empty?

    @notes.each.with_index(1).map { |text, number| "[^#{number}]: #{text}" }.join("\n") + "\n"
  end
end
