# A page, with a name that Zeitwerk is told how to write.

class HTMLPage
  def self.title = "A page"
end
