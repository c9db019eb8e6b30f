# The one table; bin/prepare loads this, and drops an older one before.

ActiveRecord::Schema.define do
  create_table :posts, force: true do |t|
    t.string :title, null: false
    t.text :body, null: false
    t.string :author, null: false
    t.datetime :created_at, null: false
    # The order of the front page.
    t.index %i[created_at id]
  end
end
