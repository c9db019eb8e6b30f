# How FoolsGold builds the embedded interpreter: read by mruby's own Rakefile through MRUBY_CONFIG.
# Only gems without threads, processes, sockets or other shared state are in: what touches the outside world comes
# from Rust (crates/engine-mruby), where it is bounded and safe to use from many interpreters at once.

MRuby::Build.new("host") do |conf|
  conf.toolchain :gcc

  # Strings know UTF-8, as a Rack application expects of `length` and `reverse`.
  conf.defines << "MRB_UTF8_STRING"
  # Floats keep all their 64 bits; without this 0.1 + 0.2 is 0.3.
  conf.defines << "MRB_WORDBOX_NO_FLOAT_TRUNCATE"
  # The one way to stop a runaway script: a hook that costs nothing while it is not set.
  conf.defines << "MRB_USE_DEBUG_HOOK"
  # Strings and arrays are bounded by the interpreter's memory limit, not by a constant of 1 MiB.
  conf.defines << "MRB_STR_LENGTH_MAX=0" << "MRB_ARY_LENGTH_MAX=0"
  # Middleware nests deeper than the default of 512 calls; the interpreters' stacks are sized for this.
  conf.defines << "MRB_CALL_LEVEL_MAX=4000"
  # Twice the default. Every definition of a method walks the whole cache, so a large one makes opening slow.
  conf.defines << "MRB_METHOD_CACHE_SIZE=512"

  # All of it is linked into one program. With -fPIC alone, another library could replace each function, so that calls
  # go through a table and none is inlined; hidden functions cannot be replaced.
  conf.cc.flags << "-O3" << "-fPIC" << "-fvisibility=hidden" << "-fno-strict-aliasing"
  # For mruby/build --stress. Stacks are left out: fibers and requests have their own, of which AddressSanitizer is not
  # told.
  unless ENV.fetch("MRUBY_STRESS", "").empty?
    conf.cc.flags << "-fsanitize=address" << "--param=asan-stack=0" << "-fno-omit-frame-pointer" << "-g"
    conf.linker.flags << "-fsanitize=address"
  end

  # Of the box "stdlib" all but Set, which is a file of Ruby's own library.
  conf.gembox "metaprog"
  %w[
    compar-ext enum-ext string-ext numeric-ext array-ext hash-ext range-ext proc-ext symbol-ext object-ext objectspace
    fiber enumerator enum-lazy toplevel-ext kernel-ext class-ext
    sprintf struct data random math bigint errno error catch compiler
  ].each do |name|
    conf.gem core: "mruby-#{name}"
  end
end
