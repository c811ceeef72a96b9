// Runs cells in Node: `node -e THIS -- ORDERS RECORDS INTERRUPTS`, the numbers of three pipes. `let`, `const` and `class`
// last from cell to cell and can be declared anew, and `await` works at the top level, as in the console of a browser.
(() => {
  "use strict";
  const fs = require("node:fs");
  const net = require("node:net");
  const util = require("node:util");
  const { Session } = require("node:inspector");
  const { Writable } = require("node:stream");
  const { Worker } = require("node:worker_threads");
  const [orders, records, interrupts] = process.argv.slice(-3).map(Number);
  const session = new Session();
  session.connect();

  const tell = (...fields) => {
    const data = Buffer.from(fields.map((each) => String(each).replaceAll("\0", "\uFFFD") + "\0").join(""));
    for (let at = 0; at < data.length; ) at += fs.writeSync(records, data, at);
  };

  // Calls the inspector; `then` gets its answer, now or later.
  const post = (method, params, then = () => {}) =>
    session.post(method, params, (error, answer) => then(error ? { error } : answer));

  let here;
  post("Runtime.evaluate", { expression: "globalThis" }, (answer) => (here = answer.result.objectId));

  // The value that an answer of the inspector stands for.
  const valueOf = (remote) => {
    let argument = {};
    if (remote.objectId !== undefined) argument = { objectId: remote.objectId };
    else if (remote.unserializableValue !== undefined) argument = { unserializableValue: remote.unserializableValue };
    else if ("value" in remote) argument = { value: remote.value };
    let found;
    const key = Symbol.for("rewarden.value");
    Object.defineProperty(globalThis, key, { configurable: true, value: (value) => (found = value) });
    post("Runtime.callFunctionOn", {
      functionDeclaration: "function (value) { this[Symbol.for('rewarden.value')](value) }",
      objectId: here,
      arguments: [argument],
    });
    delete globalThis[key];
    return found;
  };

  // The lines of an error's stack, without those of Node and of this program.
  const traced = (error) => {
    const lines = String(error.stack).split("\n");
    const ours = lines.findIndex((line) => /^ {4}at .*(node:|\[eval\])/.test(line));
    return ours < 0 ? lines : lines.slice(0, ours);
  };

  const toldError = (error, details) => {
    if (!util.types.isNativeError(error)) {
      const text = util.inspect(error);
      tell("error", typeof error, text, `Uncaught ${text}`);
      return;
    }
    const lines = traced(error);
    if (lines.length === 1 && details) lines.push(`    at ${details.lineNumber + 1}:${details.columnNumber + 1}`);
    tell("error", error.name, error.message, lines.join("\n"));
  };

  // --- what is written is out before the call returns. Node's own streams keep what does not fit into the pipe, and
  // write it into a later cell; and an interrupt within them leaves them waiting for ever for their own write. ---------

  const asleep = new Int32Array(new SharedArrayBuffer(4));

  const writeAll = (fd, data) => {
    for (let at = 0; at < data.length; ) {
      try {
        at += fs.writeSync(fd, data, at);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error; // a program that a cell has started shares our pipe, without waiting
        Atomics.wait(asleep, 0, 0, 1);
      }
    }
  };

  class Direct extends Writable {
    constructor(fd) {
      super({ decodeStrings: false });
      this.fd = fd;
    }

    write(data, encoding, then) {
      if (typeof encoding === "function") [encoding, then] = [undefined, encoding];
      if (typeof data !== "string" && !ArrayBuffer.isView(data))
        throw new TypeError(`only text and bytes can be written, not ${typeof data}`);
      const bytes = typeof data === "string" ? Buffer.from(data, encoding) : data;
      writeAll(this.fd, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      if (then) process.nextTick(then);
      return true;
    }

    end(data, encoding, then) {
      if (data !== undefined && typeof data !== "function") this.write(data, encoding, then);
      return this;
    }

    _destroy(error, then) {
      then(error); // the pipe stays open for later cells
    }
  }

  for (const [name, fd] of [["stdout", 1], ["stderr", 2]])
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value: new Direct(fd) });

  // --- cells: an interrupt can end this program's own functions anywhere, and `current` and `listing` stay ------------

  let current = null; // the cell that runs
  let listing = null;

  const end = () => {
    current = listing = null;
    post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
    tell("done");
  };

  const run = (code) => {
    const cell = (current = {});
    const asked = { expression: code, replMode: true, awaitPromise: true, objectGroup: "cell" };
    post("Runtime.evaluate", asked, (answer) => {
      if (current !== cell) return; // it was interrupted, and its end comes late
      try {
        if (answer.error) throw new Error(answer.error.message);
        const details = answer.exceptionDetails;
        if (details) {
          toldError(valueOf(details.exception ?? { value: details.text }), details);
        } else {
          const value = valueOf(answer.result);
          if (value !== undefined) tell("value", util.inspect(value));
        }
      } catch (error) {
        toldError(error);
      }
      end();
    });
  };

  const initial = new Set([...Object.getOwnPropertyNames(globalThis), "module", "exports", "require"]);

  const list = (most) => {
    const names = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => !initial.has(name)));
    post("Runtime.globalLexicalScopeNames", {}, (answer) => answer.names?.forEach((name) => names.add(name)));
    listing = { names: [...names].sort().slice(0, most), late: false };
    goOn();
  };

  const goOn = () => {
    while (listing.names.length) {
      const name = listing.names[0];
      const row = listing.late ? ["", "", "", "<too slow>"] : described(name);
      listing.names.shift();
      tell("variable", name, ...row);
    }
    end();
  };

  const described = (name) => {
    let value;
    let failed = false;
    post("Runtime.evaluate", { expression: name, silent: true, objectGroup: "cell" }, (answer) => {
      failed = Boolean(answer.error || answer.exceptionDetails);
      if (!failed) value = valueOf(answer.result);
    });
    if (failed) return ["", "", "", "<ReferenceError>"];
    try {
      const plain = { depth: 1, breakLength: Infinity, maxArrayLength: 20, maxStringLength: 200 };
      return [kindOf(value), sizeOf(value), "", util.inspect(value, plain).slice(0, 200)];
    } catch (error) {
      return [typeof value, "", "", `<${error?.name ?? typeof error}>`];
    }
  };

  const kindOf = (value) => {
    if (value === null) return "null";
    if (typeof value !== "object") return typeof value;
    return String(value.constructor?.name || "Object").slice(0, 200);
  };

  const sizeOf = (value) => {
    if (typeof value === "string" || Array.isArray(value) || ArrayBuffer.isView(value)) return value.length ?? "";
    return util.types.isMap(value) || util.types.isSet(value) ? value.size : "";
  };

  // --- interrupts: a thread ends what runs here until this one has read the order that follows the interrupt. Flake: an
  // interrupt that is there before its cell, and so ended nothing. -------------------------------------------------------

  const watcher = `
    "use strict";
    const fs = require("node:fs");
    const net = require("node:net");
    const { Session } = require("node:inspector");
    const { parentPort, workerData } = require("node:worker_threads");
    const session = new Session();
    session.connectToMainThread();
    let answered = () => {};
    parentPort.on("message", (number) => answered(number));
    const answer = () => new Promise((resolve) => {
      const late = setTimeout(resolve, 200, null);
      answered = (number) => { clearTimeout(late); resolve(number); };
      parentPort.postMessage(null);
    });
    const terminate = () => new Promise((resolve) => session.post("Runtime.terminateExecution", resolve));
    const moment = () => new Promise((resolve) => setTimeout(resolve, 2));
    let come = 0;
    let over = 0;
    const settle = async () => {
      while (over < come) {
        const read = await answer();
        if (read === null) await terminate();
        else if (read <= over) await moment();
        else {
          over = Math.min(read, come);
          fs.writeSync(workerData.records, "settled\\0" + over + "\\0");
        }
      }
    };
    const pipe = new net.Socket({ fd: workerData.interrupts, readable: true, writable: false });
    pipe.on("data", (data) => {
      const idle = over === come;
      come += data.length;
      if (idle) settle();
    });
    pipe.on("end", () => process.kill(process.pid, "SIGKILL")); // the driver is gone, and with it all orders
    parentPort.postMessage("ready");
  `;

  let settled = 0; // the number of the last order to settle that was read

  const interrupt = () => {
    if (listing) {
      listing.late = true;
      goOn();
    } else if (current) {
      tell("error", "Interrupted", "the cell was interrupted", "Interrupted");
      end();
    }
  };

  const worker = new Worker(watcher, { eval: true, workerData: { records, interrupts }, stdin: false });
  worker.on("message", (what) => {
    if (what === "ready") {
      tell("ready");
      return;
    }
    interrupt();
    worker.postMessage(settled);
  });
  process.on("SIGINT", () => {}); // it is for the programs that a cell has started

  // What fails in the background ends no kernel: its error is written where the cell that runs can show it.
  process.on("uncaughtException", (error) => {
    const text = util.types.isNativeError(error) ? traced(error).join("\n") : util.inspect(error);
    process.stderr.write(`Uncaught ${text}\n`);
  });

  let begun = [];
  new net.Socket({ fd: orders, readable: true, writable: false }).on("data", (data) => {
    for (let at; (at = data.indexOf(10)) >= 0; data = data.subarray(at + 1)) {
      const line = Buffer.concat([...begun, data.subarray(0, at)]);
      begun = []; // first: an interrupt can come below, and what is kept would spoil the next order
      const order = JSON.parse(line.toString());
      if ("settle" in order) {
        settled = order.settle;
        interrupt();
      } else if ("list" in order) list(order.list);
      else run(order.code);
    }
    begun.push(data);
  });
})();
