# One WebSocket.
module ApplicationCable
  # Its visitor is known by a cookie that the chat's page has set.
  class Connection < ActionCable::Connection::Base
    identified_by :visitor

    def connect
      self.visitor = cookies.encrypted[:visitor] || reject_unauthorized_connection
    end
  end
end
