# The tests' room: runs test code whose names of the candidate are functions that ask the other room. Only values in
# tagged form come in. Options on stdin, the report on descriptor 4 (docs/tagged-codec.md).
require_relative "rewarden/values"
require_relative "rewarden/loading"

module Rewarden
  KNOWN_ERRORS = [
    StandardError, RuntimeError, ArgumentError, TypeError, NameError, NoMethodError, IndexError, KeyError, RangeError,
    FloatDomainError, ZeroDivisionError, FrozenError, NotImplementedError, RegexpError, IOError, EOFError,
  ].to_h { |kind| [kind.name, kind] }.freeze
  RESERVED = %w[
    alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo
    rescue retry return self super then true undef unless until when while yield
  ].freeze
  MAX_LISTED = 1000

  # A fault that ends the run. The first one stays: no test can turn it into a pass.
  class Fault < Exception
    attr_reader :kind, :who

    def initialize(kind, message, who = "candidate")
      super(Rewarden.brief(message))
      @kind = kind
      @who = who
    end
  end

  # An exception of the candidate's whose class is its own.
  class CandidateError < StandardError
  end

  # Tests of a framework that did not pass.
  class Failed < StandardError
  end

  # What test code knows of the candidate.
  class Room
    def initialize(options)
      @options = options
      @codec = Codec.new(true)
      @channel = Channel.new(3)
      @uses = @asked = 0
      @changed = []
      @borrowed = []
      @trouble = nil
    end

    def fail(kind, message, who = "candidate")
      @trouble ||= Fault.new(kind, message, who)
      Kernel.raise(@trouble)
    end

    def greet
      hello = received("the candidate's process ended while it was loading")
      return if hello["is"] == "loaded"
      fail("bad_frame", "the first frame is no greeting") unless hello["is"] == "unloaded"
      fail("candidate_load", "#{hello['type']}: #{hello['message']}\n#{hello['traceback']}")
    end

    # Makes functions of the candidate's of the names that the code uses and nobody has defined.
    def install(code)
      entry = @options["entry_point"]
      define(entry, entry) if entry
      define("candidate", entry) if entry
      (code.scan(/(?<![\w.:@$])[a-z_]\w*[?!]?/).uniq - RESERVED).each do |name|
        next if MAIN.receiver.respond_to?(name, true) || code.match?(/\b#{Regexp.escape(name)}\s*=[^=>]/)
        next unless ask({ "op" => "get", "name" => name })["is"] == "function"
        define(name, name)
      end
    end

    def call(name, given)
      begin
        args = given.map { |arg| @codec.encode(arg) }
      rescue Uncrossable => fault
        fail("unsupported", "an argument cannot cross: #{fault.message}; this needs isolation: shared", "tests")
      end
      @uses += 1
      answer = ask({ "op" => "call", "name" => name, "args" => args, "kwargs" => {}, "capture" => false })
      write_back(given, answer["after"])
      case answer["is"]
      when "value" then read(answer["value"])
      when "uncrossable" then fail("uncrossable_value", "a value of type #{answer['type'].to_s[0, 100]} cannot cross")
      when "absent" then fail("missing_name", "the candidate has no #{name}")
      when "raised" then Kernel.raise(rebuilt(answer))
      else fail("bad_frame", "no such answer")
      end
    end

    # Writes the report and ends the process. fault: what ended the test code, nil where it ran to its end.
    def report(fault)
      said = outcome(fault)
      provenance = {}
      provenance["argument_mutated"] = @changed.first(MAX_LISTED) unless @changed.empty?
      provenance["names_from_candidate"] = @borrowed.first(MAX_LISTED) unless @borrowed.empty?
      whole = {
        "done" => true, "kind" => nil, "who" => nil, "message" => "", "line" => nil, "source" => nil, "tests" => {},
        "calls" => @uses, "provenance" => provenance, **said, "nonce" => @options["nonce"]
      }
      out = IO.for_fd(4, "wb", autoclose: false)
      out.write(Rewarden.json(whole))
      out.flush
      Process.exit!(said["outcome"] == "passed" ? 0 : 1)
    end

    private

    def outcome(fault)
      if @trouble
        outcome = @trouble.who == "tests" ? "error" : "failed"
        return { "outcome" => outcome, "kind" => @trouble.kind, "who" => @trouble.who, "message" => @trouble.message }
      end
      idle = @uses.zero?
      return { "outcome" => "passed" } if fault.nil? && !idle
      message = fault.nil? ? "the test code never used the candidate" : Rewarden.brief(fault.full_message(highlight: false))
      return { "outcome" => "error", "kind" => "test_code", "who" => "tests", "message" => message } if idle
      kind = fault.class.name.to_s.match?(/Assert|Failed/) ? "assertion" : "exception"
      { "outcome" => "failed", "kind" => kind, "who" => "candidate", "message" => message }
    end

    def define(name, target)
      room = self
      lent = @options["entry_point"] && target != @options["entry_point"]
      borrowed = @borrowed
      Object.define_method(name) do |*args|
        borrowed.push(name) if lent && !borrowed.include?(name)
        room.call(target, args)
      end
      Object.send(:private, name)
    end

    def ask(question)
      Kernel.raise(@trouble) if @trouble && %w[candidate_lost bad_frame].include?(@trouble.kind)
      @asked += 1
      begin
        @channel.send(question.merge("of" => 0, "id" => @asked))
      rescue Lost
        fail("candidate_lost", "the candidate's process ended while the tests were running")
      rescue Uncrossable => fault
        fail("unsupported", "an argument cannot cross: #{fault.message}", "tests")
      end
      answer = received("the candidate's process ended while the tests were running")
      fail("bad_frame", "an answer to another question") unless answer["id"] == @asked
      answer
    end

    def received(lost)
      @channel.receive
    rescue Lost
      fail("candidate_lost", lost)
    rescue BadFrame => fault
      fail("bad_frame", fault.message)
    end

    def read(tagged)
      @codec.decode(tagged)
    rescue BadFrame
      fail("bad_frame", "an answer of no known shape")
    end

    def write_back(given, after)
      return if after.nil?
      fail("bad_frame", "not the arguments") unless after.is_a?(Hash)
      after.each do |at, now|
        old = at.match?(/\A\d{1,3}\z/) ? given[at.to_i] : nil
        value = read(now)
        alike = [Array, Hash, Set, String].any? { |kind| old.is_a?(kind) && value.is_a?(kind) }
        fail("bad_frame", "an argument has become something else") unless alike
        @changed.push(@uses)
        old.replace(value) unless @options["writes_back"] == false || old.frozen?
      end
    end

    def rebuilt(answer)
      type, message = answer["type"].to_s[0, 100], answer["message"].to_s[0, MAX_MESSAGE]
      KNOWN_ERRORS.key?(type) ? KNOWN_ERRORS[type].new(message) : CandidateError.new("#{type}: #{message}")
    end
  end

  # Runs the tests of frameworks now. At exit, where they run by themselves, a program that exits would end them.
  def self.run_frameworks
    passed = []
    if defined?(Test::Unit::AutoRunner) && Test::Unit::AutoRunner.need_auto_run?
      Test::Unit::AutoRunner.need_auto_run = false
      passed.push(Test::Unit::AutoRunner.run)
    end
    passed.push(Minitest.run([])) if defined?(Minitest) && Minitest.respond_to?(:run)
    Kernel.raise(Failed, "a test failed") unless passed.all?
  end

  # What runs and reports the tests of a program in one process. It cannot be defined again there.
  FROZEN = [Rewarden, IO, File, Binding, Process].freeze

  # Runs test code and the program in one process, and reports. The nonce is in a variable of this call alone, and the
  # outcome stands after the message, which methods that the program replaced can have written.
  def self.share(nonce)
    reply = IO.for_fd(4, "wb", autoclose: false)
    Object.send(:remove_const, :TracePoint)
    [Kernel, Kernel.singleton_class].each { |one| one.undef_method(:set_trace_func) }
    require "io/console"
    require "io/wait"
    FROZEN.each { |one| [one, one.singleton_class].each(&:freeze) }
    kind = "exception"
    message = ""
    begin
      load("solution.rb")
      load("tests_code.rb")
      run_frameworks
      kind = nil
    rescue Exception => fault
      kind = "assertion" if fault.class.name.to_s.match?(/Assert|Failed/)
      message = brief(fault.full_message(highlight: false))
    end
    outcome = kind.nil? ? "\"passed\",\"kind\":null,\"who\":null" : "\"failed\",\"kind\":\"#{kind}\",\"who\":\"candidate\""
    reply.syswrite("{\"message\":#{json(message)},\"line\":null,\"source\":null,\"tests\":{},\"calls\":0,\"provenance\":{}," \
      "\"done\":true,\"outcome\":#{outcome},\"nonce\":\"#{nonce}\"}")
    Process.exit!(kind.nil? ? 0 : 1)
  end

  # Runs test code that asks the other room, and reports.
  def self.ask(options)
    room = Room.new(options)
    begin
      room.greet
      room.install(File.read("tests_code.rb", encoding: "UTF-8"))
      load("tests_code.rb")
      run_frameworks
      room.report(nil)
    rescue Exception => fault
      room.report(fault)
    end
  end

  # Returns the options. Attack: read them again, with the nonce.
  def self.asked
    options = JSON.parse($stdin.read)
    $stdin.reopen(File::NULL)
    options
  end

  options = asked
  options["shared"] ? share(options.delete("nonce")) : ask(options)
end
