# A named route that is loaded when it is first asked for.

LAZY_NAMED.route("late") { |_| "late, but here" }
