# Everybody hears what anybody says, and who leaves.
class ChatChannel < ApplicationCable::Channel
  def subscribed
    stream_from "chat"
    transmit({ kind: "welcome", text: "#{visitor} at #{RailsBrowser::Application::VERSION}" })
  end

  def say(data)
    tell "said", data["text"]
  end

  # A text as long as it is asked for, to who asks only: what PostgreSQL tells other processes has at most 8000 bytes.
  def recite(data)
    transmit({ kind: "recited", visitor: visitor, text: "gold " * Integer(data["words"]) })
  end

  def unsubscribed
    tell "left", ""
  end

  private

  def tell(kind, text)
    ActionCable.server.broadcast("chat", { kind: kind, visitor: visitor, text: text })
  end
end
