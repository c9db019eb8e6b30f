# frozen_string_literal: true

# What bin/site needs beside mdBook: `site.rb gather ROOT FOLDER` puts the pages of docs/ and all that they link to into
# a folder that mdBook takes, in the order of docs/README.md; `site.rb check SITE` fails on links that lead nowhere.
require "cgi"
require "fileutils"
require "pathname"
require "set"

LINK = /\]\(([^)\s]+)\)/.freeze

# The pages, and the files that they link to.
class Site
  def initialize(root, folder)
    @root = Pathname(root).realpath
    @source = Pathname(folder) / "src"
    @pages = []
  end

  def gather
    FileUtils.rm_rf(@source.dirname)
    FileUtils.mkdir_p(@source)
    take(Pathname("README.md"))
    (@source / "SUMMARY.md").write(summary)
    (@source.dirname / "book.toml").write(<<~TOML)
      [book]
      title = "FoolsGold"
      language = "en"

      # README.md stays README.html: links are rewritten to that name.
      [build]
      use-default-preprocessors = false

      [output.html.print]
      enable = false

      [output.html]
      default-theme = "light"
      preferred-dark-theme = "navy"
      smart-punctuation = false
    TOML
  end

  private

  # Copies a page, and what it links to.
  def take(path)
    return if @pages.include?(path)

    @pages << path
    text = (@root / path).read.gsub(LINK) { "](#{target(path, Regexp.last_match(1))})" }
    put(path, text)
  end

  # A link as the site has it: a folder of a run is its report, any other folder its README.
  def target(page, link)
    place, mark = link.split("#", 2)
    return link if place.empty? || place.match?(/\A[a-z]+:/)

    path = (page.dirname / place).cleanpath
    if (@root / path).directory?
      path = ["report.html", "README.md"].map { |name| path / name }.find { |file| (@root / file).file? }
    end
    return link unless path && (@root / path).file?

    path.extname == ".md" ? take(path) : put(path, (@root / path).binread)
    [path.relative_path_from(page.dirname), mark].compact.join("#")
  end

  def put(path, bytes)
    FileUtils.mkdir_p((@source / path).dirname)
    (@source / path).binwrite(bytes)
  end

  # The chapters: the groups of docs/README.md, then the pages of the repository that they lead to.
  def summary
    lines = ["# Summary", "", "[FoolsGold](README.md)", "", "[The pages](docs/README.md)"]
    named = [Pathname("README.md"), Pathname("docs/README.md")]
    (@root / "docs/README.md").each_line do |line|
      if line.start_with?("## ")
        lines += ["", "# #{line.delete_prefix('## ').strip}", ""]
      elsif (name = line[/\A\| \[([^\]]+\.md)\]/, 1])
        named << (page = Pathname("docs") / name)
        lines << "- [#{title(page)}](#{page})"
      end
    end
    others = @pages - named
    lines += ["", "# The repository", ""] + others.map { |page| "- [#{title(page)}](#{page})" }
    "#{lines.join("\n")}\n"
  end

  def title(page)
    (@root / page).each_line.find { |line| line.start_with?("# ") }.to_s.delete_prefix("# ").strip.delete("[]")
  end
end

# The links of all pages that lead to no file of the site.
def dead_links(site)
  Pathname.glob(File.join(site, "**", "*.html")).flat_map do |page|
    next [] if page.basename.to_s == "report.html"

    links = page.read(encoding: "UTF-8").scan(/(?:href|src)="([^"]*)"/).flatten.map { |link| CGI.unescapeHTML(link) }
    dead = links.to_set.reject do |link|
      place = link.split(/[#?]/, 2).first.to_s
      place.empty? || place.match?(%r{\A([a-z]+:|//)}) || (page.dirname / place).exist?
    end
    dead.map { |link| "#{page}: #{link}" }
  end
end

what, first, second = ARGV
case what
when "gather" then Site.new(first, second).gather
when "check"
  dead = dead_links(first)
  abort("site: links that lead nowhere:\n#{dead.join("\n")}") unless dead.empty?
else abort("site.rb gather ROOT FOLDER, or site.rb check SITE")
end
