# gems: mail mini_mime
# ask: / /parse /address
require "mail"

run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/parse"
      mail = Mail.read_from_string("From: A <a@b.c>\r\nTo: x@y.z, \"Q, R\" <q@r.s>\r\nSubject: " \
        "=?UTF-8?Q?h=C3=A9?=\r\nDate: Fri, 2 Jan 2026 03:04:05 +0100\r\n\r\nbody\r\n")
      [mail.from, mail.to, mail.subject, mail.date.to_s, mail.body.decoded]
    when "/address" then Mail::Address.new("Ann B <ann@example.org> (home)").then { |one| [one.display_name, one.local,
      one.domain, one.comments] }
    else
      mail = Mail.new { from "a@b.c"; to "d@e.f"; subject "Grüße"; body "text" }
      mail.message_id = "<1@x>"
      mail.date = DateTime.new(2026, 1, 2)
      mail.to_s
    end
  [200, {}, [found.inspect]]
end)
