// An environment for Merit in JavaScript, without an SDK: what docs/plugin-protocol.md asks of any language.
// A room has a temperature, and somebody wants another one.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const about = { protocol: 1, name: "thermostat", version: "1.0.0", summary: "Bring a room to the temperature that is wanted." };
const actions = ["cool", "wait", "heat"];
const size = 11; // temperatures
const limit = 20; // steps
const [STEP, RESET] = [1, 2];
const [TERMINATED, TRUNCATED, FAILED, INVALID] = [1, 2, 4, 8];

if (process.env.MERIT_PLUGIN !== "environment") {
  console.error(`${about.name} is a plug-in of Merit: ${about.summary}\nIt is started by merit, not by hand.`);
  process.exit(2);
}

// A number from a seed of 64 bits: the same seed is the same episode, whatever was played before.
function mix(seed) {
  let z = BigInt.asUintN(64, seed + 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

class Room {
  reset(seed, split) {
    const z = mix(seed * 3n + BigInt(["train", "validation", "test"].indexOf(split)));
    this.at = Number(z % BigInt(size));
    this.want = Number((z / BigInt(size)) % BigInt(size));
    if (this.want === this.at) this.want = (this.at + 3) % size;
    [this.steps, this.live] = [0, true];
    return { reward: 0, flags: 0 };
  }
  step(action) {
    if (!this.live) throw new Error("stepped outside of an episode");
    const next = Math.min(Math.max(this.at + action - 1, 0), size - 1);
    let flags = next === this.at && action !== 1 ? INVALID : 0;
    this.at = next;
    this.steps++;
    if (this.at === this.want) flags |= TERMINATED;
    else if (this.steps === limit) flags |= TRUNCATED;
    this.live = (flags & (TERMINATED | TRUNCATED)) === 0;
    return { reward: flags & TERMINATED ? 1 : 0, flags };
  }
}

let rooms = [];
let split = "train";

function configure(call, done) {
  let options = {};
  try {
    options = JSON.parse(call.request.options.toString() || "{}");
  } catch { /* the host sends JSON */ }
  const unknown = Object.keys(options);
  if (unknown.length > 0) {
    const one = (key) => ({ boundary: "config", kind: "invalid", where: `options.${key}`, what: "is not an option", hint: "there are none" });
    return done(null, { fault: { all: unknown.map(one) } });
  }
  rooms = Array.from({ length: call.request.slots }, () => new Room());
  split = call.request.split;
  const spec = { name: about.name, version: about.version, slots: rooms.length, actions, featureShape: [2, size], maxSteps: limit, system: "Answer with cool, wait or heat." };
  done(null, { spec });
}

// arena is texts behind each other and where each ends.
function arena(texts) {
  const parts = texts.map((t) => Buffer.from(t, "utf8"));
  const ends = Buffer.alloc(4 * parts.length);
  let end = 0;
  parts.forEach((p, i) => ends.writeUInt32LE((end += p.length), 4 * i));
  return [Buffer.concat(parts), ends];
}

function exchange(batch) {
  const n = rooms.length;
  const reply = { seq: batch.seq, mask: Buffer.alloc(n * actions.length, 1), reward: Buffer.alloc(8 * n), flags: Buffer.alloc(n), events: [] };
  const features = batch.want & 2 ? Buffer.alloc(4 * 2 * size * n) : Buffer.alloc(0);
  let resets = 0;
  rooms.forEach((room, i) => {
    const op = batch.op[i];
    if (op !== STEP && op !== RESET) return; // skipped: its rows mean nothing
    try {
      const said = op === RESET ? room.reset(batch.seed.readBigUInt64LE(8 * resets++), split) : room.step(batch.action.readInt32LE(4 * i));
      reply.reward.writeDoubleLE(said.reward, 8 * i);
      reply.flags[i] = said.flags;
      if (said.flags & (TERMINATED | TRUNCATED)) reply.events.push({ slot: i, kind: "metric", name: "steps", message: String(room.steps) });
    } catch (e) {
      reply.flags[i] = FAILED; // this slot only: the next reset helps
      reply.events.push({ slot: i, kind: "error", message: String(e.message) });
    }
    if (features.length > 0) {
      features.writeFloatLE(1, 4 * (i * 2 * size + room.at));
      features.writeFloatLE(1, 4 * (i * 2 * size + size + room.want));
    }
  });
  const rows = rooms.map((r, i) => (batch.op[i] === 0 ? "" : `${r.at} ${r.want}`));
  [reply.anchor, reply.anchorEnd] = arena(rows);
  if (batch.want & 1) [reply.text, reply.textEnd] = arena(rooms.map((r, i) => (rows[i] ? `It is ${r.at} degrees, ${r.want} are wanted.` : "")));
  reply.features = features;
  return reply;
}

// One reply for each batch, in order.
function run(stream) {
  stream.on("data", (batch) => {
    if (batch.op.length !== rooms.length) {
      stream.write({ seq: batch.seq, fault: { boundary: "plugin", kind: "protocol", what: `a batch of ${batch.op.length} slots, not ${rooms.length}` } });
    } else stream.write(exchange(batch));
  });
  stream.on("end", () => stream.end());
}

const options = { keepCase: false, longs: String, includeDirs: [path.join(__dirname, "proto")] };
const contract = grpc.loadPackageDefinition(loader.loadSync("merit/plugin/v1/environment.proto", options));
const raw = (route, answer, then) => ({ definition: { path: route, requestStream: false, responseStream: false, requestDeserialize: (b) => b, responseSerialize: (b) => b },
  handler: (_call, done) => { done(null, answer); then?.(); } });
const server = new grpc.Server({ "grpc.max_receive_message_length": 64 << 20, "grpc.max_send_message_length": 64 << 20 });
server.addService(contract.merit.plugin.v1.Environment.service, {
  Describe: (_call, done) => done(null, { ...about, options: Buffer.from("{}") }),
  Configure: configure, Run: run,
  Render: (_call, done) => done(null, { fault: { what: "the environment draws no picture" } }),
});
// What go-plugin asks of every plug-in: that it is healthy (1 = SERVING), and that it ends.
const health = raw("/grpc.health.v1.Health/Check", Buffer.from([8, 1]));
const shutdown = raw("/plugin.GRPCController/Shutdown", Buffer.alloc(0), () => setTimeout(() => process.exit(0), 50));
server.addService({ Check: health.definition }, { Check: health.handler });
server.addService({ Shutdown: shutdown.definition }, { Shutdown: shutdown.handler });

const socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR || fs.mkdtempSync("/tmp/plugin-"), `plugin-${process.pid}`);
server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (err) => {
  if (err) throw err;
  process.stdout.write(`1|1|unix|${socket}|grpc|\n`); // the handshake: the first line of stdout, and all of it
  console.log = console.info = console.error; // what is printed from here on is the log
});
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(3), 500).unref(); // nobody's plug-in lives on
