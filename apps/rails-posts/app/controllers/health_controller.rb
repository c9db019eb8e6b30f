# Whether the application runs; Rails has this by itself only from 7.1 on.

# GET /up, without a look at the database, which has checks of its own.
class HealthController < ActionController::Base
  def show
    render plain: "up\n"
  end
end
