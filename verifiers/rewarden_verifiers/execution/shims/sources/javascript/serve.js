// The candidate's room: loads the program and answers questions about it on descriptor 3 (docs/tagged-codec.md, the
// channel). Nothing here decides anything: the candidate may rewrite all of it.
"use strict";

const { Channel, Codec, Lost, Uncrossable } = require("./rewarden/values.js");
const { find, load } = require("./rewarden/loading.js");

const MAX_MESSAGE = 2000;

function raised(codec, fault) {
  if (!(fault instanceof Error)) {
    try {
      return { is: "raised", type: typeof fault, message: "", value: codec.encode(fault) };
    } catch {
      return { is: "raised", type: typeof fault, message: "" };
    }
  }
  try {
    return { is: "raised", type: String(fault.name).slice(0, 100), message: String(fault.message).slice(0, MAX_MESSAGE) };
  } catch {
    return { is: "raised", type: "Error", message: "" };
  }
}

async function call(codec, found, question) {
  const args = question.args.map((arg) => codec.decode(arg));
  let answer;
  let promised = false;
  try {
    let value = Reflect.apply(found[0], found[1], args);
    promised = typeof value?.then === "function";
    if (promised) value = await value;
    answer = { is: "value", value: codec.encode(value) };
  } catch (fault) {
    answer = fault instanceof Uncrossable ? { is: "uncrossable", type: fault.type } : raised(codec, fault);
  }
  answer.promised = promised;
  answer.after = {};
  for (const [at, arg] of args.entries()) {
    if (typeof arg !== "object" || arg === null) continue;
    try {
      const now = codec.encode(arg);
      if (JSON.stringify(now) !== JSON.stringify(question.args[at])) answer.after[at] = now;
    } catch {
      continue; // it became something that cannot cross: the tests keep theirs
    }
  }
  return answer;
}

async function answer(codec, look, question) {
  const found = find(look, question.name, []);
  if (question.op === "call" && found !== null) return call(codec, found, question);
  const value = look(question.name);
  if (value === undefined) return { is: "absent" };
  if (typeof value === "function") return { is: "function" };
  try {
    return { is: "value", value: codec.encode(value) };
  } catch (fault) {
    return { is: "uncrossable", type: fault instanceof Uncrossable ? fault.type : "object" };
  }
}

async function main() {
  const channel = new Channel(3);
  let look;
  try {
    look = await load("solution.js");
  } catch (fault) {
    channel.send({ is: "unloaded", type: raised(new Codec(true), fault).type, message: String(fault?.message ?? fault).slice(0, MAX_MESSAGE), traceback: String(fault?.stack ?? "").slice(0, 4000) });
    process.exit(1);
  }
  channel.send({ is: "loaded" });
  for (;;) {
    const question = channel.receive();
    const said = await answer(new Codec(true), look, question);
    try {
      channel.send({ ...said, id: question.id });
    } catch (fault) {
      if (!(fault instanceof Uncrossable)) throw fault;
      channel.send({ is: "uncrossable", type: fault.type, id: question.id });
    }
  }
}

main().catch((fault) => process.exit(fault instanceof Lost ? 0 : 1));
