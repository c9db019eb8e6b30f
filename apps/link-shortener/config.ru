# A link shortener:  foolsgold apps/link-shortener
# It keeps its links in links.db beside this file, or where LINKS_DB says.

require_relative "lib/shortener"
require_relative "lib/session"
require_relative "lib/assets"

database = ENV["LINKS_DB"] || File.join(__dir__, "links.db")
links = Links.open(database)

use Assets, File.join(__dir__, "public")
use Session, links.secret
run Shortener.new(database)
