# The posts that bin/prepare writes: the same everywhere, so that a check knows what each must say. Plain Ruby.

# Post 1 to post 1000, a minute apart.
module Samples
  COUNT = 1000
  START = Time.utc(2024, 1, 1)
  AUTHORS = ["Ada", "Bo <bo@example.com>", "Chloé", "Dai & Eve", "Fritz \"Gold\" O'Hara"].freeze
  SENTENCES = [
    "The vein runs north, under the old mill.", "Iron and sulphur shine like gold & fool many.",
    "A file tells them apart: gold is soft, pyrite < glass is not.", "Höhe 1200 m, Wetter gut.",
    "Scratch it on porcelain: a black streak is no gold.", "It rained, and we sorted stones indoors."
  ].freeze

  # What post number `id` says.
  def self.post(id)
    sentences = Array.new(3 + id % 4) { |at| SENTENCES[(id * 7 + at * 5) % SENTENCES.size] }
    { title: "Find #{id} of the day", author: AUTHORS[id % AUTHORS.size], body: sentences.join(" "),
      created_at: START + id * 60 }
  end
end
