# One call: the request on stdin, the reply on descriptor 4 (docs/tagged-codec.md, mode `call`).
require_relative "rewarden/values"
require_relative "rewarden/loading"
require_relative "rewarden/nodes"

module Rewarden
  def self.error(fault)
    said = failure(fault)
    { "error" => said["type"], "message" => said["message"], "traceback" => said["traceback"] }
  end

  def self.answer(request)
    codec = Codec.new(false)
    begin
      load("solution.rb")
    rescue StandardError, ScriptError, SystemStackError => fault
      return error(fault).merge("loading" => true)
    end
    hints = request["types"] || {}
    begin
      args = request["args"].each_with_index.map { |arg, at| build((hints["args"] || {})[at.to_s], codec.decode(arg)) }
      found = find(request["target"], (request["init"] || []).map { |arg| codec.decode(arg) })
      return { "missing" => request["target"] } if found.nil?
      value = flatten(hints["returns"], found.call(*args))
      { "value" => codec.encode(value) }
    rescue Uncrossable => fault
      { "uncrossable" => fault.message }
    rescue StandardError, ScriptError, SystemStackError => fault
      error(fault)
    end
  end

  reply = answer(JSON.parse($stdin.read, max_nesting: 0))
  out = IO.for_fd(4, "wb", autoclose: false)
  out.write(json(reply))
  out.flush
  Process.exit!(reply.key?("value") ? 0 : 1)
end
