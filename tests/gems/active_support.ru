# gems: rails/activesupport i18n concurrent-ruby/lib/concurrent-ruby tzinfo base64
# ask: / /time /cache /numbers
require "active_support"
require "active_support/core_ext"

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/time" then [Time.utc(2026, 1, 31).next_month.to_s, 3.days.inspect, 90.minutes.in_hours,
      Date.new(2026, 2, 1).end_of_month.to_s, Time.utc(2026).beginning_of_week.iso8601]
    when "/cache"
      store = ActiveSupport::Cache::MemoryStore.new
      [store.fetch("a") { 1 }, store.fetch("a") { 2 }, store.read("b"),
        ActiveSupport::HashWithIndifferentAccess.new(a: { b: 1 })["a"]["b"]]
    when "/numbers" then [1_234_567.to_fs(:delimited), 1234.5.to_fs(:currency), 10.megabytes, 3.ordinalize,
      0.256.to_fs(:percentage, precision: 1)]
    else ["".blank?, "user_account".camelize.pluralize, [1, 2, 3].to_sentence, { a: nil }.compact_blank,
      "x" * 9.clamp(1, 3), "hello world".truncate(8), nil.try(:x), %w[a b].second, "<b>".html_safe.html_safe?]
    end
  [200, {}, [found.inspect]]
end)
