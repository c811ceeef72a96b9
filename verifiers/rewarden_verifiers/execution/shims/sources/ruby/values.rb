# Tagged JSON (docs/tagged-codec.md) for Ruby, and frames of it over a descriptor.
# Kernel's functions are called by its name: a program may define `raise` or `format` for every object.
require "json"
require "set"

module Rewarden
  MAX_BYTES = 8 * 1024 * 1024
  MAX_DEPTH = 100
  MAX_DIGITS = 100_000
  MAX_MESSAGE = 2000
  INTEGER = /\A-?[0-9a-f]+\z/
  FLOAT = /\A-?0x[01](?:\.[0-9a-f]{1,13})?p[+-][0-9]{1,4}\z/
  SPECIAL = { "nan" => Float::NAN, "inf" => Float::INFINITY, "-inf" => -Float::INFINITY }.freeze
  CLASS = Kernel.instance_method(:class)

  class Uncrossable < Exception
  end

  class BadFrame < Exception
  end

  class Lost < Exception
  end

  # Between two rooms of Ruby (`exact`) a symbol has a tag. Otherwise it is a text.
  class Codec
    def initialize(exact)
      @exact = exact
    end

    def encode(value, depth = 0)
      Kernel.raise(Uncrossable, "a nesting that is too deep") if depth > MAX_DEPTH
      kind = Codec.class_of(value)
      Kernel.raise(Uncrossable, "BasicObject") if kind.nil?
      return value if kind.equal?(NilClass) || kind.equal?(TrueClass) || kind.equal?(FalseClass)
      return { "i" => value.to_s(16) } if kind.equal?(Integer)
      return { "f" => Codec.hex(value) } if kind.equal?(Float)
      return text(value) if kind.equal?(String)
      return @exact ? { "symbol" => value.name } : text(value.name) if kind.equal?(Symbol)
      return { "l" => value.map { |part| encode(part, depth + 1) } } if kind.equal?(Array)
      return { "s" => value.map { |part| encode(part, depth + 1) } } if kind.equal?(Set)
      return { "d" => value.map { |pair| pair.map { |part| encode(part, depth + 1) } } } if kind.equal?(Hash)
      Kernel.raise(Uncrossable, kind.to_s[0, 100])
    end

    def decode(tagged, depth = 0)
      return tagged if tagged.nil? || tagged == true || tagged == false
      return whole(tagged) if tagged.is_a?(String)
      Kernel.raise(BadFrame, "not a value") unless tagged.is_a?(Hash) && tagged.size == 1 && depth <= MAX_DEPTH
      tag, payload = tagged.first
      case tag
      when "i", "f", "symbol", "bytes", "text"
        Kernel.raise(BadFrame, "not a text") unless payload.is_a?(String)
        scalar(tag, payload)
      when "l", "t" then row(payload, depth)
      when "s", "frozenset" then Set.new(row(payload, depth))
      when "d"
        Kernel.raise(BadFrame, "not pairs") unless payload.is_a?(Array)
        payload.to_h do |pair|
          Kernel.raise(BadFrame, "not a pair") unless pair.is_a?(Array) && pair.size == 2
          pair.map { |part| decode(part, depth + 1) }
        end
      else Kernel.raise(BadFrame, "no such tag")
      end
    end

    # The class of any object, whatever its own method `class` says; nil where it has none.
    def self.class_of(value)
      CLASS.bind_call(value)
    rescue TypeError
      nil
    end

    def self.hex(value)
      return "nan" if value.nan?
      return value.positive? ? "inf" : "-inf" if value.infinite?
      Kernel.format("%a", value)
    end

    private

    def text(value)
      utf8 = value.encoding == Encoding::UTF_8 || value.ascii_only? ? value.dup.force_encoding("UTF-8") : value.encode("UTF-8")
      utf8.valid_encoding? ? utf8 : { "bytes" => value.unpack1("H*") }
    rescue EncodingError
      { "bytes" => value.unpack1("H*") }
    end

    def whole(text)
      Kernel.raise(BadFrame, "not UTF-8") unless text.valid_encoding?
      text.dup
    end

    def row(payload, depth)
      Kernel.raise(BadFrame, "not an array") unless payload.is_a?(Array)
      payload.map { |part| decode(part, depth + 1) }
    end

    def scalar(tag, payload)
      case tag
      when "i"
        Kernel.raise(BadFrame, "not an integer") unless payload.size <= MAX_DIGITS && INTEGER.match?(payload)
        payload.to_i(16)
      when "f"
        return SPECIAL[payload] if SPECIAL.key?(payload)
        value = FLOAT.match?(payload) ? Kernel.Float(payload) : Float::NAN
        value.finite? ? value : Kernel.raise(BadFrame, "not a float")
      when "symbol" then whole(payload).to_sym
      else
        Kernel.raise(BadFrame, "not bytes") unless /\A(?:[0-9a-f]{2})*\z/.match?(payload)
        bytes = [payload].pack("H*")
        tag == "text" ? bytes.force_encoding("UTF-8") : bytes
      end
    end
  end

  # JSON in ASCII, of texts that are valid UTF-8.
  def self.json(message)
    JSON.generate(message, ascii_only: true, max_nesting: 0)
  end

  def self.brief(text)
    text.to_s.dup.force_encoding("UTF-8").scrub[0, MAX_MESSAGE]
  end

  # Frames over a stream socket: four bytes of length, big-endian, then a JSON object.
  class Channel
    def initialize(descriptor)
      @socket = IO.for_fd(descriptor, "r+b", autoclose: false)
      @socket.sync = true
    end

    def send(message)
      body = Rewarden.json(message)
      Kernel.raise(Uncrossable, "too many bytes") if body.bytesize > MAX_BYTES
      @socket.write([body.bytesize].pack("N") + body)
    rescue SystemCallError, IOError
      Kernel.raise(Lost, "the other room is gone")
    end

    def receive
      size = take(4).unpack1("N")
      Kernel.raise(BadFrame, "a frame longer than the limit") if size > MAX_BYTES
      body = take(size).force_encoding("UTF-8")
      begin
        message = JSON.parse(body, max_nesting: 4 * MAX_DEPTH, create_additions: false)
      rescue StandardError
        Kernel.raise(BadFrame, "not JSON")
      end
      Kernel.raise(BadFrame, "not an object") unless message.is_a?(Hash)
      message
    end

    private

    def take(size)
      data = @socket.read(size)
      Kernel.raise(Lost, "the other room is gone") if data.nil? || data.bytesize < size
      data
    rescue SystemCallError, IOError
      Kernel.raise(Lost, "the other room is gone")
    end
  end
end
