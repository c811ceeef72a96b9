// Tagged JSON (docs/tagged-codec.md) for JavaScript, and frames of it over a descriptor.
"use strict";

const fs = require("node:fs");
const { types } = require("node:util");

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_VALUES = 1_000_000;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

class Uncrossable extends Error {
  constructor(type) {
    super(`a value of type ${type} cannot cross`);
    this.type = type;
  }
}
class BadFrame extends Error {}
class Lost extends Error {}

function hexFloat(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const sign = bits >> 63n ? "-" : "";
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const mantissa = (bits & 0xfffffffffffffn).toString(16).padStart(13, "0");
  if (exponent === 0) return `${sign}0x0.${mantissa}p${mantissa === "0".repeat(13) ? "+0" : "-1022"}`;
  const power = exponent - 1023;
  return `${sign}0x1.${mantissa}p${power < 0 ? "" : "+"}${power}`;
}

function unhexFloat(text) {
  if (text === "nan") return NaN;
  if (text === "inf") return Infinity;
  if (text === "-inf") return -Infinity;
  const found = /^(-?)0x([01])(?:\.([0-9a-f]{1,13}))?p([+-]\d{1,4})$/.exec(text);
  if (found === null) throw new BadFrame("not a float");
  const mantissa = Number(BigInt("0x" + found[2] + (found[3] ?? "").padEnd(13, "0")));
  // Two steps: 2 ** -1074 alone is exact, and so is every other power.
  const power = Number(found[4]) - 52;
  const value = power < -1000 ? mantissa * 2 ** -52 * 2 ** (power + 52) : mantissa * 2 ** power;
  return found[1] ? -value : value;
}

// The text as UTF-8 with surrogates let through, in hexadecimal digits.
function hexText(text) {
  let hex = "";
  for (const part of text) {
    const point = part.codePointAt(0);
    hex +=
      point >= 0xd800 && point <= 0xdfff
        ? Buffer.from([0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)]).toString("hex")
        : Buffer.from(part).toString("hex");
  }
  return hex;
}

// Between two rooms of JavaScript (`exact`) a number is always a float, a BigInt an integer, and undefined has a tag.
// Otherwise a whole number is an integer, and undefined is null.
class Codec {
  constructor(exact) {
    this.exact = exact;
  }

  encode(value) {
    this.left = MAX_VALUES;
    return this.tagged(value, 0);
  }

  tagged(value, depth) {
    if (--this.left < 0) throw new Uncrossable("too many values");
    switch (typeof value) {
      case "boolean":
        return value;
      case "undefined":
        return this.exact ? { undefined: null } : null;
      case "string":
        return LONE.test(value) ? { text: hexText(value) } : value;
      case "bigint":
        return { i: value.toString(16) };
      case "number":
        return !this.exact && Number.isInteger(value) && !Object.is(value, -0)
          ? { i: BigInt(value).toString(16) }
          : { f: hexFloat(value) };
      case "object":
        if (value === null) return null;
        break;
      default:
        throw new Uncrossable(typeof value);
    }
    if (depth >= MAX_DEPTH) throw new Uncrossable("a nesting that is too deep");
    // No code of the value's own class may say what it is: a Proxy, a subclass or a getter could lie later.
    if (types.isProxy(value)) throw new Uncrossable("Proxy");
    const kind = Object.getPrototypeOf(value);
    if (Array.isArray(value) && kind === Array.prototype) {
      if (value.length > this.left) throw new Uncrossable("an array that is too long");
      return { l: Array.from({ length: value.length }, (_, at) => this.tagged(value[at], depth + 1)) };
    }
    if (types.isTypedArray(value)) {
      if (value.length > this.left) throw new Uncrossable("an array that is too long");
      return { l: Array.from(value, (part) => this.tagged(part, depth + 1)) };
    }
    if (types.isMap(value) && kind === Map.prototype) {
      return { d: [...value].map(([key, part]) => [this.tagged(key, depth + 1), this.tagged(part, depth + 1)]) };
    }
    if (types.isSet(value) && kind === Set.prototype) {
      return { s: [...value].map((part) => this.tagged(part, depth + 1)) };
    }
    if (kind === Object.prototype || kind === null) {
      const tag = this.exact ? "object" : "d";
      return { [tag]: Object.keys(value).map((key) => [this.tagged(key, depth + 1), this.tagged(value[key], depth + 1)]) };
    }
    throw new Uncrossable(typeof kind?.constructor?.name === "string" ? kind.constructor.name.slice(0, 100) : "object");
  }

  decode(tagged, depth = 0) {
    if (tagged === null || typeof tagged === "boolean" || typeof tagged === "string") return tagged;
    if (typeof tagged !== "object" || Array.isArray(tagged) || depth > MAX_DEPTH) throw new BadFrame("not a value");
    const keys = Object.keys(tagged);
    if (keys.length !== 1) throw new BadFrame("not a value");
    const payload = tagged[keys[0]];
    const row = (values) => values.map((part) => this.decode(part, depth + 1));
    switch (keys[0]) {
      case "undefined":
        return undefined;
      case "i": {
        if (typeof payload !== "string" || !/^-?[0-9a-f]{1,100000}$/.test(payload)) throw new BadFrame("not an integer");
        const digits = payload.replace("-", "");
        const value = payload.startsWith("-") ? -BigInt("0x" + digits) : BigInt("0x" + digits);
        return this.exact ? value : Number(value);
      }
      case "f":
        return unhexFloat(payload);
      case "l":
      case "t":
        return row(payload);
      case "s":
      case "frozenset":
        return new Set(row(payload));
      case "object":
      case "d": {
        const pairs = payload.map(([key, part]) => [this.decode(key, depth + 1), this.decode(part, depth + 1)]);
        if (keys[0] === "d" && this.exact) return new Map(pairs);
        const made = {};
        for (const [key, value] of pairs) {
          // Not by assignment, which takes `__proto__` for the prototype.
          Object.defineProperty(made, String(key), { value, enumerable: true, writable: true, configurable: true });
        }
        return made;
      }
      case "text":
        return unhexText(payload);
      default:
        throw new BadFrame("no such tag");
    }
  }
}

function unhexText(hex) {
  if (typeof hex !== "string" || !/^(?:[0-9a-f]{2})*$/.test(hex)) throw new BadFrame("not a text");
  let text = "";
  const bytes = Buffer.from(hex, "hex");
  for (let at = 0; at < bytes.length; ) {
    const size = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
    const surrogate = size === 3 && bytes[at] === 0xed && bytes[at + 1] >= 0xa0;
    text += surrogate
      ? String.fromCharCode(0xd000 | ((bytes[at + 1] & 63) << 6) | (bytes[at + 2] & 63))
      : bytes.toString("utf8", at, at + size);
    at += size;
  }
  return text;
}

function writeAll(descriptor, data) {
  for (let done = 0; done < data.length; ) done += fs.writeSync(descriptor, data, done);
}

// Frames over a stream socket: four bytes of length, big-endian, then a JSON object.
class Channel {
  constructor(descriptor) {
    this.descriptor = descriptor;
  }

  send(message) {
    const body = Buffer.from(JSON.stringify(message));
    if (body.length > MAX_BYTES) throw new Uncrossable("too many bytes");
    const size = Buffer.alloc(4);
    size.writeUInt32BE(body.length);
    try {
      writeAll(this.descriptor, Buffer.concat([size, body]));
    } catch {
      throw new Lost("the other room is gone");
    }
  }

  receive() {
    const size = this.take(4).readUInt32BE();
    if (size > MAX_BYTES) throw new BadFrame("a frame longer than the limit");
    let message;
    try {
      message = JSON.parse(this.take(size).toString("utf8"));
    } catch (fault) {
      if (fault instanceof Lost) throw fault;
      throw new BadFrame("not JSON");
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) throw new BadFrame("not an object");
    return message;
  }

  take(size) {
    const data = Buffer.alloc(size);
    for (let done = 0; done < size; ) {
      let count = 0;
      try {
        count = fs.readSync(this.descriptor, data, done, size - done, null);
      } catch {
        count = 0;
      }
      if (count === 0) throw new Lost("the other room is gone");
      done += count;
    }
    return data;
  }
}

module.exports = { BadFrame, Channel, Codec, Lost, Uncrossable, writeAll };
