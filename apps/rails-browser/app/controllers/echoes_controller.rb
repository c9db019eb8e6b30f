# Answers with what it was asked.
class EchoesController < ApplicationController
  skip_forgery_protection

  def show
    # The body of such a form has words in it that the browser makes anew each time.
    files = request.form_data? ? request.request_parameters.values : []
    files = files.grep(ActionDispatch::Http::UploadedFile)
    body = files.empty? ? request.body.read : files.map(&:read).join
    response.set_header("X-Echo", request.method)
    render json: {
      method: request.method, type: request.media_type, length: request.content_length,
      digest: Digest::SHA256.hexdigest(body), files: files.map(&:original_filename), query: request.query_parameters,
      body: (request.request_parameters.except(:echo) if request.media_type&.include?("json")),
      cookies: request.cookies.size, ajax: request.xhr?.present?, host: request.host, scheme: request.scheme
    }
  end
end
