# What an application in this folder says on top: the gems it needs, and the requests it is compared by.

class Asked
  Request = Struct.new(:verb, :path, :headers, :body)

  attr_reader :name, :gems, :requests

  def initialize(file)
    @name = File.basename(file, ".ru")
    lines = File.readlines(file, chomp: true)
    @gems = words(lines, "gems")
    @requests = words(lines, "ask").map { |word| request(word) }
  end

  private

  # Of all lines that begin with the key.
  def words(lines, key)
    found = lines.filter_map { |line| line.delete_prefix("# #{key}: ") if line.start_with?("# #{key}: ") }
    found.empty? ? raise("#{@name}.ru has no line `# #{key}: ...`") : found.flat_map(&:split)
  end

  # `/path?query`, `POST:/path?form`, each with any number of `@header=value` behind it.
  def request(word)
    path, *headers = word.split("@").then { |parts| word.include?("=") ? rejoin(parts) : parts }
    verb, path = path.start_with?("/") ? ["GET", path] : path.split(":", 2)
    path, body = path.split("?", 2) if verb == "POST"
    headers = headers.to_h { |header| header.split("=", 2) }
    headers["content-type"] = "application/x-www-form-urlencoded" if body
    Request.new(verb, path, { "host" => "gems.example", "accept" => "*/*" }.merge(headers), body)
  end

  # An `@` that no header follows belongs to what is before it.
  def rejoin(parts)
    parts.each_with_object([]) do |part, found|
      found.empty? || part.match?(/\A[a-z-]+=/) ? found << part : found.last << "@" << part
    end
  end
end
