# The candidate's room: loads the program and answers questions about it on descriptor 3 (docs/tagged-codec.md, the
# channel). Nothing here decides anything: the candidate may rewrite all of it.
require_relative "rewarden/values"
require_relative "rewarden/loading"

module Rewarden
  # An argument whose change the tests can see.
  def self.mutable?(value)
    value.is_a?(Array) || value.is_a?(Hash) || value.is_a?(Set) || value.is_a?(String)
  end

  def self.called(codec, found, question)
    args = question["args"].map { |arg| codec.decode(arg) }
    begin
      answer = { "is" => "value", "value" => codec.encode(found.call(*args)) }
    rescue Uncrossable => fault
      answer = { "is" => "uncrossable", "type" => fault.message }
    rescue StandardError, ScriptError, SystemStackError => fault
      answer = failure(fault).merge("is" => "raised")
    end
    answer["after"] = {}
    args.each_with_index do |arg, at|
      next unless mutable?(arg)
      now = codec.encode(arg)
      answer["after"][at.to_s] = now unless now == question["args"][at]
    rescue Uncrossable
      next # it became something that cannot cross: the tests keep theirs
    end
    answer
  end

  def self.answer(codec, question)
    found = find(question["name"].to_s)
    return { "is" => "absent" } if found.nil?
    question["op"] == "call" ? called(codec, found, question) : { "is" => "function" }
  end

  channel = Channel.new(3)
  begin
    load("solution.rb")
  rescue StandardError, ScriptError, SystemStackError => fault
    channel.send(failure(fault).merge("is" => "unloaded"))
    Process.exit!(1)
  end
  channel.send({ "is" => "loaded" })
  codec = Codec.new(true)
  begin
    Kernel.loop do
      question = channel.receive
      begin
        channel.send(answer(codec, question).merge("id" => question["id"]))
      rescue Uncrossable => fault
        channel.send({ "is" => "uncrossable", "type" => fault.message, "id" => question["id"] })
      end
    end
  rescue Lost
    Process.exit!(0)
  end
end
