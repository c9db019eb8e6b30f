# What docs/writing-apps.md and docs/ruby-agreement.md call absent or different, and how to recognise a failing example
# that is about it.

module Absent
  # Each reason with what it is known by: the file's path, the failure's text, the example's name; all that are given.
  REASONS = {
    "pattern matching" => [{ text: /SyntaxError.*pattern/ }],
    "refinements" => [{ text: /there are no refinements/ }],
    "BEGIN" => [{ text: /BEGIN not supported/ }],
    "private_constant" => [
      { name: /private_constant|private constant/ }, { file: /private_constant|deprecate_constant/ },
    ],
    "a file marked `encoding: binary`, whose literals are UTF-8 here" => [
      { file: %r{core/array/pack|core/string/unpack}, text: /\A".*should ==|be computed by|should include\?/ },
    ],
    "encodings" => [
      { text: /constant Encoding::|unknown encoding name|Encoding::(?:Conv|Undef|Inval|Compat)|code converter/ },
      { text: /#<Encoding:\S+> should (?:==|equal\?) #<Encoding|_encoding'/ },
      { file: %r{string/(?:encode|encoding|force_encoding|valid_encoding|scrub|b|ascii_only)_spec} },
      { name: /[Ee]ncoding|EUC|SJIS|Shift_JIS|UTF-16|UTF-32|ASCII-8BIT|US-ASCII|ISO-8859/ },
      { name: /turkic|Turkic|Lithuanian|titlecase/ },
    ],
    "threads" => [{ text: /can't create Thread|ThreadError|\bThread\b/ }, { name: /\b[Tt]hreads?\b/ }],
    "processes and signals" => [{ text: /Process::Status|signo|Process\.(?:kill|wait)/ }],
    "files are for reading" => [{ text: /files are for reading|Tempfile.*(?:delete|unlink)/ }],
    "standard input, ARGF" => [{ text: /STDIN|ARGF|\$stdin/ }, { name: /ARGF|STDIN/ }],
    "Enumerator::ArithmeticSequence and Producer" => [
      { text: /ArithmeticSequence|Enumerator::Producer/ }, { name: /ArithmeticSequence|arithmetic sequence/i },
    ],
    "fibers with a scheduler, storage or transfer" => [
      { file: %r{core/fiber/(?:storage|scheduler|set_scheduler|transfer|blocking|kill|current_scheduler)} },
      { text: /scheduler|'storage'|can't cross C function/ },
    ],
    "Math.gamma and lgamma" => [{ file: %r{math/l?gamma} }],
    "other numbers for the same seed" => [{ file: %r{core/random|kernel/s?rand|random/seed}, text: /should|seed/ }],
    "CGI itself (HTML, queries, headers)" => [{ text: /there is no CGI here/ }],
    "an Array or Hash that holds itself" => [{ text: /SystemStackError/, name: /recursive/ }],
    "bindings: variables that eval sets" => [
      { file: %r{core/binding|kernel/eval|kernel/binding}, name: /local|variable|scope/ },
    ],
    "another compressor" => [{ file: %r{library/zlib/(?:deflate|gzipwriter)}, text: /should ==/ }],
    "integer literals in a flip-flop" => [{ name: /flip-flop/ }],
    "YAML that is written" => [{ text: /YAML is only read here/ }],
    "named as missing by the error" => [{ text: /The embedded interpreter does not have it/ }],
  }.freeze

  def self.reason(file, name, text)
    given = { file: file, name: name, text: text }
    found = REASONS.find { |_, ways| ways.any? { |way| way.all? { |field, pattern| pattern.match?(given[field]) } } }
    found&.first
  end
end
