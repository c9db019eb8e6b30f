# frozen_string_literal: true

# What the test applications share: Lint around everything, one block for each path, and notes in a file, which outlive
# a worker that is killed.

require "rack"
require "rack/lint"

RACK3 = Rack.release.to_i >= 3

# The Lint of the Rack that is installed. Paths below /raw go past it: Rack 2's hides `to_path` and refuses bodies that
# are called. It knows nothing of `OPTIONS *` either.
class Linted
  def initialize(app)
    @app = app
    @lint = Rack::Lint.new(app)
  end

  def call(env)
    path = env["PATH_INFO"]
    (path.start_with?("/raw/") || (path == "*" && !RACK3) ? @app : @lint).call(env)
  rescue Rack::Lint::LintError => error
    note("lint: #{error.message}")
    raise
  end
end

def note(words)
  File.write("notes", "#{words}\n", mode: "a")
end

def text(words, status = 200, headers = {})
  [status, { "content-type" => "text/plain" }.merge(headers), [words.to_s]]
end

# An application of blocks by their paths, with or without /raw before it; each has a way to say that it runs.
def paths(blocks)
  lambda do |env|
    path = env["PATH_INFO"].delete_prefix("/raw")
    block = blocks[path] and next block.call(env)

    text("no case for #{path}", 404)
  end
end

# Waits until the test has made a file.
def wait_for(name)
  sleep 0.005 until File.exist?(name)
end

# A body whose end is noted.
class Body
  def initialize(name, &each)
    @name = name
    @each = each
  end

  def each(&block)
    @each.call(block)
  end

  def close
    note("closed #{@name}")
  end
end
