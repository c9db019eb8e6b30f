# A branch that is loaded when it is first asked for.

LAZY_APP.hash_branch("lazy") { |r| "lazily loaded #{r.remaining_path}" }
