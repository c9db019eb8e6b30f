# Ways to somewhere else.
class RedirectsController < ApplicationController
  def chain
    left = params[:left].to_i
    redirect_to(left.zero? ? root_path(arrived: 1) : chain_path(left - 1))
  end

  # The method and the body are kept.
  def keep
    redirect_to echo_path, status: :temporary_redirect
  end
end
