# Files to save, made in all ways that Rails has.
class ExportsController < ApplicationController
  ROWS = 500

  def index
  end

  # A body that is made while it is sent, as most Rails applications write it.
  def rows
    headers["Content-Type"] = "text/csv"
    headers["Content-Disposition"] = ActionDispatch::Http::ContentDisposition.format(
      disposition: "attachment", filename: "rows.csv")
    headers["Cache-Control"] = "no-cache"
    headers["Last-Modified"] = Time.now.httpdate
    self.response_body = Enumerator.new do |lines|
      lines << "number,square\n"
      ROWS.times do |number|
        sleep 0.002
        lines << "#{number},#{number * number}\n"
      end
    end
  end

  def file
    send_file Rails.root.join("files/minerals.txt"), filename: "Übersicht – Gold.txt", type: "text/plain"
  end

  def data
    send_data [*0..255].pack("C*") * 400, filename: "bytes.bin", disposition: params[:disposition] || "attachment"
  end
end
