// A second checker of dual certificates, for total_jct of workers: node check.js FOLDER
// Nothing of it comes from mlsched but the rules: docs/explanation/certificates-dual.md (the proof), the judge of workers (the blocks).
"use strict";
const fs = require("fs"), path = require("path");
const SCALE = 1n << 24n, CANNOT = 9007199254740992n;
const read = (name) => JSON.parse(
  // Every number as a BigInt: prices exceed what a double holds.
  fs.readFileSync(path.join(process.argv[2], name), "utf8").replace(/(?<=[\s:,[]|^)-?\d+(?=[\s,\]}]|$)/gm, '"$&n"'),
  (key, value) => (typeof value === "string" && /^-?\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value));
const fail = (why) => { console.log("not proved: " + why); process.exit(1); };
const instance = read("instance.json"), manifest = read("manifest.json"), [[tree]] = read("tree.json").trees;
if (instance.kind !== "workers.instance") fail("this checker knows workers alone");
const target = manifest.proofs[0].bound, capacity = instance.capacity, rows = capacity.length;

// A block per job; an option is [cost, use of each resource]; the first is to wait (rules 1 to 3).
const blocks = instance.cost.map((table, j) => [[instance.waiting[j], capacity.map(() => 0n)]].concat(
  table.flatMap((costs, w) => costs.map((cost, p) => [cost, capacity.map((_, r) =>
    BigInt(w + 1) * instance.worker_demand[j][r] + BigInt(p + 1) * instance.ps_demand[j][r])])
    .filter(([cost]) => cost !== CANNOT))));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0n);

function leaf(price, sides) {  // does every choice within the sides cost the target or more?
  const priced = blocks.map((options, b) => options
    .filter(([, use]) => sides.every(([block, r, sign, most]) => block !== BigInt(b) || sign * use[r] <= most))
    .map(([cost, use]) => [cost * SCALE + dot(price, use), use]));
  if (priced.some((options) => options.length === 0)) return true;
  const least = priced.map((options) => options.reduce((a, [x]) => (x < a ? x : a), options[0][0]));
  const slack = SCALE * (target - 1n) - (least.reduce((a, b) => a + b, 0n) - dot(price, capacity));
  if (slack < 0n) return true;
  let states = new Map([[capacity.map(() => 0n).join(), 0n]]);  // used of each resource -> least excess
  priced.forEach((options, b) => {
    const kept = options.filter(([x]) => x - least[b] <= slack), made = new Map();
    for (const [key, excess] of states) for (const [x, use] of kept) {
      const used = key.split(",").map((n, r) => BigInt(n) + use[r]), total = excess + x - least[b];
      if (total > slack || used.some((n, r) => n > capacity[r])) continue;
      const name = used.join();
      if (!made.has(name) || total < made.get(name)) made.set(name, total);
    }
    if (made.size > 20000) fail("a leaf needs more than 20000 states");
    states = made;
  });
  for (const [key, excess] of states) {  // a choice: its cost is what was priced less the price of what it uses
    const used = key.split(",").map(BigInt);
    if (excess + dot(price, capacity.map((n, r) => n - used[r])) <= slack) return false;
  }
  return true;
}

let next = 0;
function walk(price, sides) {
  if (next >= tree.length) fail("the tree ends early");
  const [changes, block, row, most] = tree[next++];
  if (Object.values(changes).some((p) => typeof p !== "bigint")) fail("a price is no integer");
  const here = price.map((p, r) => p + (changes[r] ?? 0n));
  if (Object.keys(changes).some((r) => !(r in capacity)) || here.some((p) => p < 0n)) fail("a price is below 0");
  if (block === undefined) return leaf(here, sides) || fail("a leaf does not prove the bound");
  walk(here, [...sides, [block, Number(row), 1n, most]]);
  walk(here, [...sides, [block, Number(row), -1n, -most - 1n]]);
}
walk(capacity.map(() => 0n), []);
if (next !== tree.length) fail("nodes follow the end of the tree");
console.log(`proved: no plan of this instance has a smaller total_jct than ${target}`);
