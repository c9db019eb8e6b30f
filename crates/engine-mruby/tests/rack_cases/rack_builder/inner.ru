# A rackup file inside another application.

use Tag, "inner"
run ->(env) { [200, {}, [File.basename(__FILE__), " ", __LINE__.to_s, " ", env["PATH_INFO"]]] }

__END__
This is never read as Ruby.
