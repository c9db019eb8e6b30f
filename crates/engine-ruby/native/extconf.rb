# frozen_string_literal: true

# Prepares the native worker for the Ruby that runs this, by mkmf as in any gem.

require "mkmf"

abort "the native worker is for CRuby only, this is #{RUBY_ENGINE}" unless RUBY_ENGINE == "ruby"

# Symbols that other files of this extension need must not be visible to other extensions.
append_cflags(%w[-O2 -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden])
create_makefile("foolsgold_native")
