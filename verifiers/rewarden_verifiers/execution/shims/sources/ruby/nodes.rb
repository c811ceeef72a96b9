# Lists to linked lists and trees, and back, by the hints of a request: `ListNode`, `TreeNode`, `List[ListNode]`.

# LeetCode provides these classes: a program can define them again.
class ListNode
  attr_accessor :val, :next

  def initialize(val = 0, _next = nil)
    @val = val
    @next = _next
  end
end

class TreeNode
  attr_accessor :val, :left, :right

  def initialize(val = 0, left = nil, right = nil)
    @val = val
    @left = left
    @right = right
  end
end

module Rewarden
  MAX_NODES = 100_000

  def self.inner(hint)
    hint && hint[/\A[Ll]ist\[(.+)\]\z/, 1]
  end

  def self.build(hint, value)
    return value.map { |part| build(inner(hint), part) } if inner(hint)
    case hint
    when "ListNode"
      (value || []).reverse.inject(nil) do |rest, val|
        node = ListNode.new(val)
        node.next = rest
        node
      end
    when "TreeNode" then tree(value || [])
    else value
    end
  end

  # Level by level; nil stands for a missing child.
  def self.tree(values)
    return nil if values.empty? || values[0].nil?
    root = TreeNode.new(values[0])
    waiting = [root]
    values.drop(1).each_slice(2) do |left, right|
      node = waiting.shift
      node.left = TreeNode.new(left) unless left.nil?
      node.right = TreeNode.new(right) unless right.nil?
      waiting.push(*[node.left, node.right].compact)
    end
    root
  end

  def self.flatten(hint, value)
    return value.map { |part| flatten(inner(hint), part) } if inner(hint) && value.is_a?(Array)
    return value unless %w[ListNode TreeNode].include?(hint)
    values = []
    waiting = [value]
    until waiting.empty?
      node = waiting.shift
      Kernel.raise(Uncrossable, "nodes without an end") if values.size >= MAX_NODES
      next values.push(nil) if node.nil? && hint == "TreeNode"
      next if node.nil?
      values.push(node.val)
      hint == "TreeNode" ? waiting.push(node.left, node.right) : waiting.push(node.next)
    end
    values.pop while hint == "TreeNode" && !values.empty? && values.last.nil?
    values
  end
end
