# Signing up and out.
class AccountsController < ApplicationController
  def new
    @account = Account.new
  end

  def create
    @account = Account.new(params.require(:account).permit(:name, :email))
    return render(:new, status: :unprocessable_entity) unless @account.save

    reset_session
    session[:account_id] = @account.id
    redirect_to account_path, notice: "Welcome, #{@account.name}!", status: :see_other
  end

  def show
    redirect_to new_account_path, alert: "Sign up first." unless account
  end

  def destroy
    reset_session
    redirect_to root_path, notice: "Good bye.", status: :see_other
  end
end
