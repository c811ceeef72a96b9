// One call: the request on stdin, the reply on descriptor 4 (docs/tagged-codec.md, mode `call`).
"use strict";

const fs = require("node:fs");
const { Codec, Uncrossable, writeAll } = require("./rewarden/values.js");
const { find, load } = require("./rewarden/loading.js");
const { build, flatten } = require("./rewarden/nodes.js");

const MAX_MESSAGE = 2000;

function failure(fault) {
  try {
    const type = fault instanceof Error ? String(fault.name) : typeof fault;
    const message = fault instanceof Error ? String(fault.message) : String(fault);
    return { error: type.slice(0, 100), message: message.slice(0, MAX_MESSAGE), traceback: String(fault?.stack ?? "").slice(0, 4000) };
  } catch {
    return { error: "Error", message: "", traceback: "" };
  }
}

async function answer(request) {
  const codec = new Codec(false);
  let look;
  try {
    look = await load("solution.js");
  } catch (fault) {
    return { ...failure(fault), loading: true };
  }
  const hints = request.types ?? {};
  let value, args;
  try {
    args = request.args.map((arg, at) => build(look, hints.args?.[at], codec.decode(arg)));
    const found = find(look, request.target, (request.init ?? []).map((arg) => codec.decode(arg)));
    if (found === null) return { missing: request.target };
    value = await Reflect.apply(found[0], found[1], args);
  } catch (fault) {
    return failure(fault);
  }
  try {
    return { value: codec.encode(flatten(hints.returns, value)) };
  } catch (fault) {
    return { uncrossable: fault instanceof Uncrossable ? fault.type : typeof value };
  }
}

const request = JSON.parse(fs.readFileSync(0, "utf8"));
answer(request).then((reply) => {
  writeAll(4, Buffer.from(JSON.stringify(reply).replace(/[\u007f-\uffff]/g, (part) => "\\u" + part.charCodeAt(0).toString(16).padStart(4, "0"))));
  process.exit("value" in reply ? 0 : 1);
});
