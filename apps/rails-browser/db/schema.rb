# The tables: those of Active Storage as Rails makes them, and two of our own.

ActiveRecord::Schema[7.0].define(version: 1) do
  create_table :accounts, force: :cascade do |t|
    t.string :name, null: false
    t.string :email, null: false, index: { unique: true }
    t.timestamps
  end

  create_table :tracks, force: :cascade do |t|
    t.string :title, null: false
    t.timestamps
  end

  create_table :notes, force: :cascade do |t|
    t.string :text, null: false
    t.timestamps
  end

  create_table :active_storage_blobs, force: :cascade do |t|
    t.string :key, null: false, index: { unique: true }
    t.string :filename, null: false
    t.string :content_type
    t.text :metadata
    t.string :service_name, null: false
    t.bigint :byte_size, null: false
    t.string :checksum
    t.datetime :created_at, null: false
  end

  create_table :active_storage_attachments, force: :cascade do |t|
    t.string :name, null: false
    t.references :record, null: false, polymorphic: true, index: false
    t.references :blob, null: false
    t.datetime :created_at, null: false
    t.index %i[record_type record_id name blob_id], name: "one_attachment_each", unique: true
  end

  create_table :active_storage_variant_records, force: :cascade do |t|
    t.belongs_to :blob, null: false, index: false
    t.string :variation_digest, null: false
    t.index %i[blob_id variation_digest], name: "one_variant_each", unique: true
  end
end
