# Pages that need no model.
class PagesController < ApplicationController
  http_basic_authenticate_with name: "pyrite", password: "gold", only: :secret

  def home
    cookies[:seen] = { value: "1", httponly: true, same_site: :lax }
    session[:visits] = session[:visits].to_i + 1
    @visits = session[:visits]
  end

  def version
    render json: { version: release, pid: Process.pid, load: RailsBrowser::Application::LOAD }
  end

  def slow
    sleep params[:s].to_f.clamp(0, 30)
    render plain: "slow at #{release}"
  end

  def boom
    grain = "fool's gold"
    raise ArgumentError, "#{grain} is no gold"
  end

  # 304 for who has it already.
  def fresh
    fresh_when etag: "pyrite", last_modified: Time.utc(2024, 2, 29), public: true
  end

  def secret
    render plain: "you know the word"
  end

  def tiles
    @count = params[:count].to_i.clamp(1, 200)
  end

  def tile
    expires_now
    hue = params[:id].to_i * 7 % 360
    render body: <<~SVG, content_type: "image/svg+xml"
      <svg xmlns="http://www.w3.org/2000/svg" width="24" height="24">
        <rect width="24" height="24" fill="hsl(#{hue} 70% 50%)"/>
      </svg>
    SVG
  end

  # Compressed by Rack::Deflater.
  def deflated
    render plain: "gold " * 20_000
  end
end
