# Loads a program, and finds the names that it defines.
module Rewarden
  NAME = /\A[A-Za-z_]\w*[?!]?\z/
  MAIN = TOPLEVEL_BINDING

  # Runs a program's code as the main program's, so that its variables can be found as well.
  def self.load(file)
    path = File.expand_path(file)
    MAIN.eval(File.read(path, encoding: "UTF-8"), path)
  end

  # The function of a target, `f` or `Solution.f` (of a new object), as something to call; nil where there is none.
  def self.find(target, init = [])
    name, method = target.split(".")
    return nil unless NAME.match?(name)
    return named(name) if method.nil?
    return nil unless /\A[A-Z]/.match?(name) && Object.const_defined?(name)
    owner = Object.const_get(name)
    return owner.method(method) if owner.respond_to?(method)
    owner.instance_methods.include?(method.to_sym) ? owner.new(*init).method(method) : nil
  end

  def self.named(name)
    if /\A[a-z_]\w*\z/.match?(name) && MAIN.local_variable_defined?(name)
      value = MAIN.local_variable_get(name)
      return value.is_a?(Proc) || value.is_a?(Method) ? value : nil
    end
    main = MAIN.receiver
    main.respond_to?(name, true) ? main.method(name) : nil
  end

  def self.failure(fault)
    { "type" => brief(fault.class.name), "message" => brief(fault.message), "traceback" => brief(fault.backtrace&.first(20)&.join("\n")) }
  end
end
