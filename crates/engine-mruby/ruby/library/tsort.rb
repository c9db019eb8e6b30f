# TSort: what depends on what, in an order in which all that something needs comes before it (Tarjan's way).

module TSort
  class Cyclic < StandardError; end

  def self.tsort(each_node, each_child)
    strongly_connected_components(each_node, each_child).map do |component|
      next component.first if component.size == 1
      raise Cyclic, "topological sort failed: #{component.inspect}"
    end
  end

  def self.strongly_connected_components(each_node, each_child)
    numbers, low, stack, found = {}, {}, [], []
    visit = lambda do |node|
      numbers[node] = low[node] = numbers.size
      stack << node
      each_child.call(node) do |child|
        visit.call(child) unless numbers.key?(child)
        low[node] = [low[node], low[child]].min if low[child]
      end
      next unless low[node] == numbers[node]
      component = stack.slice!(stack.index(node)..-1)
      component.each { |one| low[one] = nil }
      found << component
    end
    each_node.call { |node| visit.call(node) unless numbers.key?(node) }
    found
  end

  def tsort = TSort.tsort(method(:tsort_each_node), method(:tsort_each_child))
  def tsort_each(&block) = block ? tsort.each(&block) && nil : tsort.each

  def strongly_connected_components
    TSort.strongly_connected_components(method(:tsort_each_node), method(:tsort_each_child))
  end

  def each_strongly_connected_component(&block) = strongly_connected_components.each(&block)
end
