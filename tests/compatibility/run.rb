# frozen_string_literal: true

# The command: starts each server, runs all cases on it, and writes the page, checks it, or prints cells. All servers
# run at once, each on ports and in folders of its own.

require "etc"
require "open3"
require_relative "../../bench/rack-env/contender"
require_relative "../../bench/rack-env/environment"
require_relative "servers"
require_relative "table"
require_relative "wire"
require_relative "requests"
require_relative "page"
%w[request_line headers bodies connections answers environment points].each { |name| require_relative "cases/#{name}" }

DOCUMENT = File.join(Contender::ROOT, "docs/compatibility.md")
USAGE = "usage: bin/compatibility [--check | --print [WORDS...]] [--servers NAME,...]"

# All cases of one server, in groups that share an application.
class Round
  CASE_S = 120

  attr_reader :cells

  def initialize(server, cases)
    @server = server
    @cases = cases
    @cells = {}
  end

  def run
    @cases.group_by(&:app).each do |app, cases|
      app ? with(app, cases) : cases.each { |one| @cells[one.name] = alone(one) }
    end
    self
  end

  private

  def with(app, cases)
    cases, left_out = cases.partition { |one| !one.without.key?(@server.name) }
    left_out.each { |one| @cells[one.name] = nil }
    return if cases.empty?

    contender = Contender.new(@server.contender, App.files(app))
    App.prepare(app, contender.folder)
    contender.start || raise("#{@server.title} does not serve:\n#{contender.log}")
    cases.each { |one| @cells[one.name] = ask(one, contender) }
  ensure
    contender&.stop
  end

  def ask(one, contender)
    unless contender.serves?(3) || contender.again
      raise "#{@server.title} does not serve any more, before #{one.name}:\n#{contender.log}"
    end

    in_time(one) { one.run.call(Session.new(contender).tap { |session| @session = session }) }
  ensure
    @session&.close
    @session = nil
  end

  # A case that starts its server itself.
  def alone(one)
    return nil if one.without.key?(@server.name)

    in_time(one) { one.run.call(@server) }
  end

  def in_time(one, &work)
    Timeout.timeout(CASE_S, &work)
  rescue Timeout::Error
    "no end in #{CASE_S} s"
  rescue StandardError => error
    raise error, "#{@server.title}, #{one.name}: #{error.message}", error.backtrace
  end
end

def rounds(servers, cases)
  Thread.report_on_exception = false
  threads = servers.map { |server| Thread.new { Round.new(server, cases).run } }
  threads.map(&:value)
ensure
  threads&.each { |thread| thread.kill.join }
end

# What a run says of the cases that the page has, against what the page says.
def check(page, servers, cells)
  wrong = []
  servers.zip(cells).each do |server, found|
    found.each do |name, words|
      said = page.dig(name, server.title)
      words ||= Page::NONE
      wrong << "#{server.title}, #{name}: #{words} (the page says: #{said || "nothing"})" if said != words
    end
  end
  wrong
end

mode = :write
names = nil
words = []
until ARGV.empty?
  case word = ARGV.shift
  when "--check" then mode = :check
  when "--print" then mode = :print
  when "--servers" then names = ARGV.shift.to_s.split(",")
  when /\A-/ then abort USAGE
  else words << word
  end
end
abort USAGE if !words.empty? && mode == :write

cases = Table.cases.select { |one| words.all? { |word| "#{one.section} #{one.name}".include?(word) } }
abort "compatibility: no case has #{words.join(" ")} in its name" if cases.empty?
names ||= mode == :check ? %w[foolsgold embedded] : Server.all.map(&:name)
servers = names.map { |name| Server.find(name) || abort("compatibility: no server #{name}") }
missing, servers = servers.partition { |server| server.version.nil? }
missing.each { |server| warn "compatibility: #{server.title} is not here" }
cells = rounds(servers, cases).map(&:cells)

case mode
when :print
  cases.each do |one|
    puts one.name
    servers.zip(cells) { |server, found| puts "  #{server.title.ljust(12)} #{found[one.name] || Page::NONE}" }
  end
when :check
  page = Page.read(File.read(DOCUMENT))
  wrong = check(page, servers, cells)
  wrong += (page.keys - cases.map(&:name)).map { |name| "#{name}: on the page, and no case any more" } if words.empty?
  puts wrong, "#{cases.size} cases, #{wrong.size} cells are not as docs/compatibility.md says"
  exit wrong.empty?
else
  File.write(DOCUMENT, Page.new(Table.sections, servers, cells).text)
end
