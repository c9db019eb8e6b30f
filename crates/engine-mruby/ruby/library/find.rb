# Find: all that is in folders and below them.

module Find
  # Each path below the given ones and they themselves, a folder before what is in it.
  def self.find(*paths, ignore_error: true)
    return to_enum(:find, *paths, ignore_error: ignore_error) unless block_given?
    left = paths.flatten.map { |path| path.respond_to?(:to_path) ? path.to_path : path.to_str }.reverse
    left.each { |path| raise Errno::ENOENT, path unless File.exist?(path) }
    until left.empty?
      path = left.pop
      catch(:prune) do
        yield path.dup
        next unless File.directory?(path)
        names = begin
          Dir.children(path).sort
        rescue SystemCallError
          raise unless ignore_error
          []
        end
        left.concat(names.reverse.map { |name| File.join(path, name) })
      end
    end
    nil
  end

  # Within the block: not what is below this folder.
  def self.prune = throw(:prune)
end
