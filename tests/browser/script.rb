# What both servers go through, step by step, and what is written down of it.

require "digest"
require "zlib"
require_relative "contender"

# A number that may be less on ours, but not more than that of the other by more than the slack.
Figure = Struct.new(:value, :slack, :unit) do
  def to_s = "#{value.is_a?(Float) ? value.round(1) : value}#{unit}"
end

# Runs the steps against one contender.
class Script
  Step = Struct.new(:name, :modes, :body)
  MODES = %w[production development].freeze
  # A step that could not be finished is a difference, even when it is the same on both.
  ERROR = "the step failed".freeze

  def self.steps = @steps ||= []

  def self.step(name, modes = MODES, &body) = steps << Step.new(name, Array(modes), body)

  attr_reader :seen

  def initialize(chromium, contender, folder, shots)
    @chromium = chromium
    @contender = contender
    @folder = folder
    @shots = shots
    @seen = {}
    @visitors = []
  end

  def run(only)
    self.class.steps.each do |step|
      next unless step.modes.include?(@contender.mode) && (only.nil? || step.name.include?(only))

      @now = @seen[step.name] = {}
      began = now
      perform(step)
      @now[:seconds] = (now - began).round(1)
    end
  ensure
    @visitors.each(&:leave)
  end

  private

  # What Chromium says of a request that it has ended itself: when, is chance.
  GIVEN_UP = "net::ERR_ABORTED".freeze
  # Chromium asks for a page's picture when it likes.
  PICTURE = %r{/(favicon\.ico|icon\.svg)\z}

  # Each step has a new tab of the same visitor, whose trouble is part of what is seen.
  def perform(step)
    @tab = visitor.tab
    instance_exec(&step.body)
    console = @tab.console.reject { |line| line[/ <(\S*)>\z/, 1].to_s.match?(PICTURE) }
      .map { |line| plain(line) }.uniq.sort
    see "console", console unless console.empty?
    failed = @tab.requests.select { |one| one.status.to_i >= 400 || (one.error && one.error != GIVEN_UP) }
      .reject { |one| one.url.match?(PICTURE) }
    failed = failed.map { |one| plain("#{one.method} #{one.url} #{one.status || one.error}") }.sort
    see "failed requests", failed unless failed.empty?
    shot(step.name)
  rescue BrowserError, SystemCallError => error
    see ERROR, error.message
    shot("#{step.name} failed")
  ensure
    begin
      @tab.close
    rescue BrowserError
      nil
    end
  end

  attr_reader :tab, :contender

  def shot(name)
    return unless @shots

    @tab.screenshot(File.join(@shots, "#{contender.mode}-#{contender.server}-#{name.tr(" ", "-")}.png"))
  rescue BrowserError
    nil
  end

  def visitor = @visitor ||= newcomer

  def newcomer = @chromium.visitor(contender.base, @folder).tap { |one| @visitors << one }

  def see(key, value) = @now[key] = value.is_a?(String) ? plain(value) : value

  # A page as a person sees it, and the headers that it came with.
  def see_page(request, name = nil)
    name = name ? "#{name}: " : ""
    see "#{name}status", request&.status
    see "#{name}address", tab.path
    see "#{name}text", tab.text
    see "#{name}headers", header_fields(request)
  end

  PASSING = %w[date x-request-id x-runtime etag last-modified].freeze

  def header_fields(request)
    fields = request&.fields || request&.headers || {}
    fields.sort.to_h { |name, value| [name, PASSING.include?(name) ? "(there)" : plain(mask(name, value))] }
  end

  def mask(name, value) = name == "set-cookie" ? value.gsub(/=[^;\n]*(;|$)/) { |_| "=...#{$1}" }.lines.sort.join : value

  # Without what is another in every run.
  def plain(text)
    text.gsub(contender.base, "BASE").gsub("localhost:#{contender.port}", "LOCAL").gsub(/:#{contender.port}\b/, ":PORT")
      .gsub(/[A-Za-z0-9_-]{24,}(=*--\h+)?/, "TOKEN").gsub(%r{\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^<\n]*}, "TIME")
  end

  def digest(bytes) = bytes && Digest::SHA256.hexdigest(bytes)[0, 12]

  def see_download(key, download)
    see key, "#{download[:name]} #{download[:state]} #{download[:bytes]&.bytesize} bytes #{digest(download[:bytes])}"
  end
end
