// What judges, as it was before the candidate's code ran in its process.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const vm = require("node:vm");
const Module = require("node:module");

const { getOwnPropertyDescriptor, is } = Object;
const { ownKeys } = Reflect;

// The objects that tests compare by. Additions are allowed; whatever replaces a part of them has tampered.
class Machinery {
  constructor() {
    const prototypes = [Object, Function, Array, String, Number, Boolean, BigInt, Symbol, Map, Set, WeakMap, WeakSet, RegExp, Promise, Error, Date, ArrayBuffer, Uint8Array];
    this.objects = [globalThis, JSON, Reflect, Math, assert, assert.strict, Module, fs, process, console, vm];
    for (let at = 0; at < prototypes.length; at += 1) {
      this.objects[this.objects.length] = prototypes[at];
      this.objects[this.objects.length] = prototypes[at].prototype;
    }
    this.before = this.objects.map((object) => this.parts(object));
  }

  parts(object) {
    const found = [];
    const names = ownKeys(object);
    for (let at = 0; at < names.length; at += 1) {
      const { value, get, set } = getOwnPropertyDescriptor(object, names[at]);
      if (typeof value === "function" || typeof get === "function" || typeof set === "function") found[found.length] = [names[at], value, get, set];
    }
    return found;
  }

  // Returns what is no longer as it was, or null.
  changed() {
    for (let at = 0; at < this.objects.length; at += 1) {
      const parts = this.before[at];
      for (let part = 0; part < parts.length; part += 1) {
        const now = getOwnPropertyDescriptor(this.objects[at], parts[part][0]);
        if (now === undefined || !is(now.value, parts[part][1]) || now.get !== parts[part][2] || now.set !== parts[part][3]) return String(parts[part][0]);
      }
    }
    return null;
  }
}

module.exports = { Machinery };
