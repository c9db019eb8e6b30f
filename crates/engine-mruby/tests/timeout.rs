//! Timeout: a block that takes too long is ended, and the code around it goes on.

use std::time::{Duration, Instant};

use crate::support::{app, within};
use engine::{Engine, Fault};

const APP: &str = r##"
require "timeout"
def ended
  yield
rescue Timeout::Error => error
  "#{error.class} #{error.message}"
end
run ->(env) {
  text = case env["PATH_INFO"]
  when "/fast" then Timeout.timeout(5) { |seconds| "in #{seconds}" }
  when "/none" then Timeout.timeout(nil) { "no limit" }
  when "/loop" then ended { Timeout.timeout(0.02) { while true; end } }
  when "/sleep" then ended { Timeout.timeout(0.02) { sleep } }
  when "/rescue" then ended { Timeout.timeout(0.02) { begin; while true; end; rescue => e; 1; end } }
  when "/ensure"
    log = []
    ended { Timeout.timeout(0.02) { begin; sleep; ensure; log << "ensured"; end } }; log.inspect
  when "/regexp" then ended { Timeout.timeout(0.02) { /^(a|a|b)*\1$/ =~ "a" * 40 + "!" } }
  when "/outer" then ended { Timeout.timeout(0.02) { Timeout.timeout(5) { while true; end } } }
  when "/inner"
    Timeout.timeout(5) { [ended { Timeout.timeout(0.02) { while true; end } }, "goes on"].inspect }
  when "/both"
    ended { Timeout.timeout(0.02) { ended { Timeout.timeout(0.02) { while true; end } }; while true; end } }
  when "/class"
    begin
      Timeout.timeout(0.02, ArgumentError, "too slow") { while true; end }
    rescue ArgumentError => e
      e.message
    end
  when "/again" then 20.times.map { ended { Timeout.timeout(0.002) { while true; end } } }.uniq.inspect
  when "/after" then Timeout.timeout(0.02) { 1 }; sleep 0.05; t = Time.now; nil while Time.now - t < 0.05; "quiet"
  when "/raise" then begin; Timeout.timeout(1) { raise "mine" }; rescue => e; e.message; end
  when "/break" then [1, 2].each { |x| Timeout.timeout(1) { break } }.inspect
  when "/deadline" then Timeout.timeout(60) { while true; end }
  end
  [200, {}, [text]]
}"##;

#[test]
fn blocks_end_in_time_and_the_rest_goes_on() {
    let app = app(APP);
    let expired = "Timeout::Error execution expired";
    for (path, body) in [
        ("/fast", "in 5"),
        ("/none", "no limit"),
        ("/loop", expired),
        ("/sleep", expired),
        ("/rescue", expired),
        ("/ensure", r#"["ensured"]"#),
        ("/regexp", expired),
        ("/outer", expired),
        ("/both", expired),
        ("/inner", r#"["Timeout::Error execution expired", "goes on"]"#),
        ("/class", "too slow"),
        ("/again", r#"["Timeout::Error execution expired"]"#),
        ("/after", "quiet"),
        ("/raise", "mine"),
        ("/break", "[1, 2]"),
    ] {
        let begin = Instant::now();
        assert_eq!(app.body(path), body, "{path}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{path}: {:?}", begin.elapsed());
    }
    assert_eq!(app.engine.status().restarts, 0);
}

/// What stops the limit takes longer than the limit here, so that it expires in between.
#[test]
fn a_limit_that_expires_while_its_block_is_left_is_a_timeout_error() {
    let app = app(r##"
        require "timeout"
        STOP = FoolsGold::Native.method(:timer_stop)
        FoolsGold::Native.define_singleton_method(:timer_stop) do |number|
          t = Time.now
          nil while Time.now - t < 0.05
          STOP.call(number)
        end
        run ->(env) {
          text = begin
            Timeout.timeout(0.02) { raise IOError, "mine" }
          rescue Exception => error
            "#{error.class} #{error.message}"
          end
          [200, {}, [text]]
        }"##);
    assert_eq!(app.body("/"), "Timeout::Error execution expired");
}

#[test]
fn the_request_time_still_counts() {
    let app = app(APP);
    assert!(matches!(app.fault(within("/deadline", 100)), Fault::OutOfTime(_)));
    assert_eq!(app.body("/loop"), "Timeout::Error execution expired");
}
