# All pages.
class ApplicationController < ActionController::Base
  layout "application"
  helper_method :account, :release

  def account = @account ||= Account.find_by(id: session[:account_id])

  def release = RailsBrowser::Application::VERSION
end
