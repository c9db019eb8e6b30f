# Answers with what it was asked.
class EchoesController < ApplicationController
  skip_forgery_protection

  def show
    body = request.body.read
    response.set_header("X-Echo", request.method)
    render json: {
      method: request.method, type: request.media_type, length: request.content_length, digest: Digest::SHA256.hexdigest(body),
      query: request.query_parameters, body: (request.request_parameters.except(:echo) if request.media_type&.include?("json")),
      cookies: request.cookies.size, ajax: request.xhr?.present?, host: request.host, scheme: request.scheme
    }
  end
end
