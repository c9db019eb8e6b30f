# gems: rodauth roda sequel rack rack-session tilt erubi
# ask: / POST:/login?login=a@example.org&password=x POST:/login?login=a@example.org&password=right
# ask: POST:/login?login=b@example.org POST:/logout
require "roda"
require "sequel"

ACCOUNTS = Sequel.mock(host: :sqlite, columns: %i[id email status_id])
ACCOUNTS.fetch = ->(sql) { sql.include?("a@example.org") ? [{ id: 1, email: "a@example.org", status_id: 2 }] : [] }
def ACCOUNTS.schema(*) = [[:id, { type: :integer }]]

class Guarded < Roda
  plugin :render, layout: false
  plugin :flash
  plugin :rodauth, csrf: false do
    db ACCOUNTS
    enable :login, :logout, :create_account
    account_password_hash_column :ph
    hmac_secret "secret"
    require_bcrypt? false
    password_match? { |password| password == "right" }
  end
  route do |r|
    r.rodauth
    r.root { rodauth.logged_in? ? "in" : "out #{rodauth.login_path} #{rodauth.features.inspect}" }
  end
end

use(Class.new { def initialize(app) = @app = app; def call(env) = @app.call(env.merge("rack.session" => {})) })
run Guarded.freeze.app
