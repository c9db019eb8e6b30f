# gems: i18n concurrent-ruby/lib/concurrent-ruby
# ask: / /plural /missing /file
require "i18n"

I18n.load_path = [File.join(__dir__, "i18n", "fr.yml")]
I18n.available_locales = %i[en de fr]
I18n.backend.store_translations(:en, hi: "Hello %{name}", inbox: { one: "one message", other: "%{count} messages" },
                                     plain: 1,
                                       date: { formats: { default: "%d %b %Y" },
                                       abbr_month_names: [nil, "Jan", "Feb"] })
I18n.backend.store_translations(:de, hi: "Hallo %{name}", deep: { er: "tief" })

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/plural" then [0, 1, 2].map { |count| I18n.t(:inbox, count: count) }
    when "/missing" then [I18n.t("no.such"), (I18n.t!(:no) rescue $!.message), I18n.t(:no, default: "d"),
      (I18n.t(:hi, locale: :xx) rescue $!.class)]
    when "/file" then [I18n.t("greeting", locale: :fr, name: "Luc"), I18n.t("list", locale: :fr),
      I18n.t("answers", locale: :fr)]
    else [I18n.t(:hi, name: "Ann"), I18n.with_locale(:de) { I18n.t("deep.er") }, I18n.l(Date.new(2026, 2, 3)),
      I18n.transliterate("Ünï")]
    end
  [200, {}, [found.inspect]]
end)
