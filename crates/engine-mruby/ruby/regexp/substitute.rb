# Methods of String with patterns and blocks; the others are in c/subject.c and c/replace.c. The text is copied unless
# it is frozen, since a block may change the String.

class String
  NOT_GIVEN = Object.new.freeze

  alias __split split

  def sub(pattern, replacement = NOT_GIVEN, &block)
    if NOT_GIVEN.equal?(replacement)
      result = __each_replaced(pattern, block, false)
      FoolsGold.last_match = $~
    else
      result = __replace(pattern, replacement, false)
    end
    result || String.new(self)
  end

  def sub!(pattern, replacement = NOT_GIVEN, &block)
    FoolsGold.refuse_change(self, String) if frozen?
    if NOT_GIVEN.equal?(replacement)
      result = __each_replaced(pattern, block, false)
      FoolsGold.last_match = $~
    else
      result = __replace(pattern, replacement, false)
    end
    result && replace(result)
  end

  def gsub(pattern, replacement = NOT_GIVEN, &block)
    if NOT_GIVEN.equal?(replacement)
      return to_enum(:gsub, pattern) unless block
      result = __each_replaced(pattern, block, true)
      FoolsGold.last_match = $~
    else
      result = __replace(pattern, replacement, true)
    end
    result || String.new(self)
  end

  def gsub!(pattern, replacement = NOT_GIVEN, &block)
    FoolsGold.refuse_change(self, String) if frozen?
    if NOT_GIVEN.equal?(replacement)
      return to_enum(:gsub!, pattern) unless block
      result = __each_replaced(pattern, block, true)
      FoolsGold.last_match = $~
    else
      result = __replace(pattern, replacement, true)
    end
    result && replace(result)
  end

  def scan(pattern, &block)
    return __scan(pattern) unless block
    text = frozen? ? self : String.new(self).freeze
    kind = text.__text_kind
    position = 0
    last = nil
    while (match = text.__find(pattern, position, kind))
      last = match
      FoolsGold.last_match = match
      block.call(match.size > 1 ? match.captures : match[0])
      position = match.__after
    end
    FoolsGold.last_match = last
    self
  end

  def partition(pattern)
    match = __find(pattern, 0)
    # A String leaves `$~` as it is.
    FoolsGold.last_match = match if pattern.is_a?(Regexp)
    match ? [match.pre_match, match[0], match.post_match] : [String.new(self), byteslice(0, 0), byteslice(0, 0)]
  end

  def rpartition(pattern)
    if pattern.is_a?(Regexp)
      found = rindex(pattern)
      match = $~
      FoolsGold.last_match = match
      return [match.pre_match, match[0], match.post_match] if found
      return [byteslice(0, 0), byteslice(0, 0), String.new(self)]
    end
    match(pattern) unless pattern.is_a?(String) # raises a TypeError
    found = byterindex(pattern)
    return [byteslice(0, 0), byteslice(0, 0), String.new(self)] unless found
    after = found + pattern.bytesize
    [byteslice(0, found), pattern.dup, byteslice(after, bytesize - after)]
  end

  def slice!(pattern, *rest)
    FoolsGold.refuse_change(self, String) if frozen?
    unless pattern.is_a?(Regexp)
      part = self[pattern, *rest]
      self[pattern, *rest] = "" unless part.nil? || part.empty?
      return part
    end
    match = __find(pattern, 0)
    FoolsGold.last_match = match
    group = rest[0] || 0
    part = match && match[group]
    return nil unless part
    from, to = match.byteoffset(group.is_a?(Integer) && group < 0 ? group + match.size : group)
    bytesplice(from, to - from, "")
    part
  end

  def split(*args, &block)
    return __split(*args) unless block
    __split(*args).each(&block)
    self
  end

  def grapheme_clusters(&block)
    return each_grapheme_cluster(&block) if block
    valid_encoding? ? __scan(/\X/) : chars
  end

  def each_grapheme_cluster(&block)
    return to_enum(:each_grapheme_cluster) unless block
    grapheme_clusters.each(&block)
    self
  end

  private

  # The new text, or nil without a match. Each match is set as `$~` of the caller's caller (2), which is the one that
  # called sub or gsub with the block.
  def __each_replaced(pattern, block, all)
    raise ArgumentError, "wrong number of arguments (given 1, expected 2)" unless block
    text = frozen? ? self : String.new(self).freeze
    kind = text.__text_kind
    out = nil
    position = copied = 0
    last = nil
    while (match = text.__find(pattern, position, kind))
      last = match
      FoolsGold.__last_match(match, 2)
      out ||= byteslice(0, 0)
      from = match.__from
      out << text.byteslice(copied, from - copied) << block.call(match[0]).to_s
      copied = match.__to
      position = match.__after
      break unless all
    end
    FoolsGold.last_match = last
    out && out << text.byteslice(copied, text.bytesize - copied)
  end
end
