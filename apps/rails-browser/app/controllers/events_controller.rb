# Server-sent events.
class EventsController < ApplicationController
  def show
  end
end
