// Lists to linked lists and trees, and back, by the hints of a request: `ListNode`, `TreeNode`, `List[ListNode]`.
"use strict";

const { Uncrossable } = require("./values.js");

const MAX_NODES = 100_000;

class ListNode {
  constructor(val = 0, next = null) {
    this.val = val;
    this.next = next;
  }
}

class TreeNode {
  constructor(val = 0, left = null, right = null) {
    this.val = val;
    this.left = left;
    this.right = right;
  }
}

// LeetCode provides these classes: a program that does not define them finds them.
Object.assign(globalThis, { ListNode, TreeNode });

const inner = (hint) => /^[Ll]ist\[(.+)\]$/.exec(hint ?? "")?.[1];

function build(look, hint, value) {
  if (inner(hint)) return value.map((part) => build(look, inner(hint), part));
  if (hint === "ListNode") {
    const Node = look("ListNode");
    return (value ?? []).reduceRight((next, val) => Object.assign(new Node(val), { next }), null);
  }
  return hint === "TreeNode" ? tree(look("TreeNode"), value ?? []) : value;
}

// Level by level; null stands for a missing child.
function tree(Node, values) {
  if (values.length === 0 || values[0] === null) return null;
  const root = new Node(values[0]);
  const waiting = [root];
  for (let at = 1; at < values.length; ) {
    const node = waiting.shift();
    for (const side of ["left", "right"]) {
      const value = at < values.length ? values[at++] : null;
      node[side] = value === null ? null : new Node(value);
      if (node[side] !== null) waiting.push(node[side]);
    }
  }
  return root;
}

function flatten(hint, value) {
  if (inner(hint) && Array.isArray(value)) return value.map((part) => flatten(inner(hint), part));
  if (hint === "ListNode") {
    const values = [];
    for (let node = value; node !== null && node !== undefined; node = node.next) {
      if (values.length >= MAX_NODES || !("next" in node)) throw new Uncrossable("a list without an end");
      values.push(node.val);
    }
    return values;
  }
  if (hint !== "TreeNode") return value;
  const values = [];
  const waiting = [value];
  while (waiting.length > 0) {
    const node = waiting.shift() ?? null;
    if (values.length >= MAX_NODES || !(node === null || "left" in node)) throw new Uncrossable("a tree without an end");
    values.push(node === null ? null : node.val);
    if (node !== null) waiting.push(node.left, node.right);
  }
  while (values.length > 0 && values.at(-1) === null) values.pop();
  return values;
}

module.exports = { build, flatten };
