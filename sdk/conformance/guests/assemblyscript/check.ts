// Reads every field and reports a digest of each section, as
// sdk/conformance/README.md describes.
import { Bytes, Kind, Output, Role, Rollout, Value, bytes } from "../../../assemblyscript/assembly/index";

const KEY = bytes("conformance");
const INVALID = bytes("invalid");
const ERROR = bytes("error");
const INVALID_REASON = bytes("invalid as asked");
const ERROR_REASON = bytes("error as asked");
const TOOL_CALLS = bytes("tool_calls");

/** FNV-1a, 32 bits. */
class Digest {
  private hash: u32 = 0x811c9dc5;

  bytes(at: usize, length: i32): void {
    let hash = this.hash;
    for (let i = 0; i < length; i++) hash = (hash ^ load<u8>(at + i)) * 0x01000193;
    this.hash = hash;
  }

  u32(n: u32): void {
    for (let i = 0; i < 32; i += 8) this.hash = (this.hash ^ ((n >> i) & 0xff)) * 0x01000193;
  }

  f64(n: f64): void {
    const bits = reinterpret<u64>(n);
    this.u32(u32(bits));
    this.u32(u32(bits >> 32));
  }

  str(s: Bytes): void {
    this.u32(s.length);
    this.bytes(s.at, s.length);
  }

  value(v: Value): void {
    this.u32(v.kind);
    if (v.kind == Kind.String) this.str(v.text);
    if (v.kind == Kind.Number) this.f64(v.number);
    if (v.kind == Kind.Bool) this.u32(v.boolean);
  }

  raw(v: Value): void {
    this.str(v.json);
    this.str(v.text);
    this.f64(v.number);
    this.u32(v.boolean);
  }

  report(out: Output, section: string): void {
    out.metric(bytes(section), this.hash);
  }
}

export function check(r: Rollout, out: Output): void {
  const ask = r.meta(KEY);
  if (ask && ask.text.equals(INVALID)) {
    out.invalid(INVALID_REASON);
    return;
  }
  if (ask && ask.text.equals(ERROR)) {
    out.error(ERROR_REASON);
    return;
  }
  trajectory(r, out);
  messages(r, out);
  values(r, out);
  steps(r, out);
  outputs(r, out);
  out.reason(r.id);
  out.score(r.messageCount);
}

function trajectory(r: Rollout, out: Output): void {
  const d = new Digest();
  d.str(r.id);
  d.str(r.group);
  d.str(r.task);
  d.u32(r.stopReason);
  d.u32(r.assistantCount);
  d.u32(r.lastAssistant);
  d.str(r.answer);
  d.report(out, "trajectory");
}

function messages(r: Rollout, out: Output): void {
  const d = new Digest();
  const calls = new Digest();
  d.u32(r.messageCount);
  for (let i = 0; i < r.messageCount; i++) {
    const m = r.message(i);
    d.u32(m.role);
    d.u32(m.assistantIndex);
    d.str(m.roleText);
    d.str(m.content);
    d.str(m.name);
    d.str(m.toolCallId);
    d.u32(m.isNull);
    d.u32(m.step);
    d.u32(m.toolCallCount);
    for (let j = 0; j < m.toolCallCount; j++) {
      const c = m.toolCall(j);
      calls.u32(i);
      calls.str(c.id);
      calls.str(c.name);
      calls.str(c.arguments);
      calls.str(c.type);
    }
  }
  d.report(out, "messages");
  calls.report(out, "tool_calls");
}

function values(r: Rollout, out: Output): void {
  const truth = new Digest();
  const meta = new Digest();
  const raw = new Digest();
  truth.value(r.groundTruth);
  raw.raw(r.groundTruth);
  meta.u32(r.metadataCount);
  for (let i = 0; i < r.metadataCount; i++) {
    const f = r.metadata(i);
    meta.str(f.key);
    meta.value(f.value);
    raw.raw(f.value);
  }
  for (let i = 0; i < r.messageCount; i++) raw.str(r.message(i).parts);
  truth.report(out, "ground_truth");
  meta.report(out, "metadata");
  raw.report(out, "raw");
}

function steps(r: Rollout, out: Output): void {
  const d = new Digest();
  d.u32(r.stepCount);
  for (let i = 0; i < r.stepCount; i++) {
    const s = r.step(i);
    d.u32(s.message);
    d.str(s.action);
    d.u32(s.actionKind);
    d.u32(s.choice);
    d.u32(s.actionValid);
    d.f64(s.reward);
    d.u32(s.terminated);
    d.u32(s.truncated);
    d.str(s.anchor);
    d.u32(s.toolCallCount);
  }
  d.report(out, "steps");
}

function outputs(r: Rollout, out: Output): void {
  for (let i = 0; i < r.messageCount; i++) {
    const m = r.message(i);
    if (m.assistantIndex < 0) continue;
    out.step(m.assistantIndex, m.content.length);
    out.stepMetric(m.assistantIndex, TOOL_CALLS, m.toolCallCount);
    if (m.toolCallCount > 0) out.stepReason(m.assistantIndex, m.toolCall(0).name);
  }
}
