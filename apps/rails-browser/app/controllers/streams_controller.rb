# What is written while it is made: each action has a thread of its own.
class StreamsController < ApplicationController
  include ActionController::Live

  # Five events and the end of the stream; the browser comes back and says which it had last. With ?forever there is no
  # end but that of the client, which is noted.
  def events
    response.headers["Content-Type"] = "text/event-stream"
    response.headers["Last-Modified"] = Time.now.httpdate
    sse = SSE.new(response.stream, retry: 100, event: "tick")
    first = request.headers["Last-Event-ID"].to_i + 1
    (params[:forever] ? first.. : first..first + 4).each do |id|
      sse.write({ tick: id, at: release }, id: id)
      sleep 0.3 # A browser that is busy meanwhile must still see that they come one by one.
    end
  rescue ActionController::Live::ClientDisconnected, IOError, Errno::EPIPE
    Note.create!(text: "an event stream has lost its client")
  ensure
    sse&.close
  end

  def rows
    send_stream(filename: "stream.csv", type: "text/csv") do |out|
      ExportsController::ROWS.times do |number|
        sleep 0.002
        out.write("#{number},#{number * number}\n")
      end
    end
  end
end
