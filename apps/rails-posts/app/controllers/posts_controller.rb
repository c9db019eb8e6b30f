# Reads and writes posts.

# The latest posts, one post, and a new one by POST with post[title], post[body] and post[author].
class PostsController < ActionController::Base
  layout "application"

  # Programs post here without having fetched the form, and nobody is logged in whose name could be misused.
  skip_forgery_protection

  rescue_from ActiveRecord::RecordNotFound do
    render plain: "there is no post #{params[:id]}: /posts has the latest ones\n", status: 404
  end

  rescue_from ActionController::ParameterMissing do
    render plain: "send post[title], post[body] and post[author]\n", status: 400
  end

  def index
    @posts = Post.latest
  end

  def show
    @post = Post.find(params[:id])
  end

  def create
    post = Post.new(params.require(:post).permit(:title, :body, :author))
    if post.save
      redirect_to post_path(post), status: 303
    else
      render plain: "#{post.errors.full_messages.join("\n")}\n", status: 422
    end
  end
end
