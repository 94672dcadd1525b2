// Reports a digest of every part of a rollout, as sdk/conformance/README.md
// describes.
import { answer, assistants, byteLength, invalid, text } from "merit";

const ROLES = ["system", "user", "assistant", "tool"];
const STOPS = ["terminated", "truncated", "policy_ended", "pattern", "error"];
const KINDS = ["choice", "text", "tool"];

export default function (rollout) {
  console.log("conformance");
  return result(rollout, {});
}

export function result(r, metrics) {
  const asked = r.metadata?.conformance;
  if (asked === "invalid") return { ...invalid("invalid as asked"), metrics };
  if (asked === "error") return { score: 0, error: "error as asked" };
  for (const [name, section] of Object.entries(sections)) {
    const d = new Digest();
    section(d, r);
    metrics[name] = d.sum >>> 0;
  }
  const step_outputs = assistants(r).map(([step_index, m]) => ({
    step_index,
    base_reward: byteLength(text(m)),
    metrics: { tool_calls: calls(m).length },
    reason: calls(m)[0]?.function.name ?? "",
  }));
  return { score: r.messages.length, reason: r.id, metrics, step_outputs };
}

const calls = (m) => m.tool_calls ?? [];

class Digest {
  sum = 2166136261;
  byte(b) {
    this.sum = Math.imul(this.sum ^ b, 16777619);
  }
  num(n) {
    for (let i = 0; i < 32; i += 8) this.byte((Number(n) >> i) & 255);
  }
  float(f) {
    new Uint8Array(new Float64Array([f]).buffer).forEach((b) => this.byte(b));
  }
  place(names, name) {
    this.num(names.indexOf(name) + 1);
  }
  string(s) {
    this.num(byteLength(s));
    for (const c of s) {
      const p = c.codePointAt(0);
      if (p < 0x80) this.byte(p);
      else {
        const more = p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
        this.byte((p >> (6 * more)) | ((0xff00 >> (more + 1)) & 255));
        for (let i = more - 1; i >= 0; i--) this.byte(((p >> (6 * i)) & 63) | 128);
      }
    }
  }
  value(v) {
    if (v === undefined) this.num(0);
    else if (typeof v === "string") this.num(1), this.string(v);
    else if (typeof v === "boolean") this.num(3), this.num(v);
    else if (v === null) this.num(4);
    else if (typeof v === "number" && Number.isFinite(v)) this.num(2), this.float(v);
    else this.num(5);
  }
}

const sections = {
  trajectory(d, r) {
    const assistant = (m) => m.role === "assistant";
    for (const s of [r.id, r.group, r.task]) d.string(s ?? "");
    d.place(STOPS, r.stop_reason);
    d.num(r.messages.filter(assistant).length);
    d.num(r.messages.findLastIndex(assistant));
    d.string(answer(r));
  },
  messages(d, r) {
    const steps = new Map((r.steps ?? []).map((s, i) => [s.message_count, i]));
    const indices = new Map(assistants(r).map(([index, , place]) => [place, index]));
    d.num(r.messages.length);
    r.messages.forEach((m, i) => {
      d.place(ROLES, m.role);
      d.num(indices.get(i) ?? -1);
      for (const s of [m.role, text(m), m.name, m.tool_call_id]) d.string(s ?? "");
      d.num(m.content === null);
      d.num(steps.get(i) ?? -1);
      d.num(calls(m).length);
    });
  },
  tool_calls(d, r) {
    r.messages.forEach((m, i) => {
      for (const c of calls(m)) {
        d.num(i);
        for (const s of [c.id, c.function.name, c.function.arguments, c.type]) d.string(s ?? "");
      }
    });
  },
  ground_truth(d, r) {
    d.value(r.ground_truth);
  },
  metadata(d, r) {
    const keys = Object.keys(r.metadata ?? {}).sort(byCodePoint);
    d.num(keys.length);
    for (const k of keys) {
      d.string(k);
      d.value(r.metadata[k]);
    }
  },
  steps(d, r) {
    d.num((r.steps ?? []).length);
    for (const s of r.steps ?? []) {
      d.num(s.message_count < r.messages.length ? s.message_count : -1);
      d.string(s.action.text ?? "");
      d.place(KINDS, s.action.kind);
      d.num(s.action.choice);
      d.num(s.action_valid);
      d.float(s.env_reward);
      d.num(s.terminated ?? false);
      d.num(s.truncated ?? false);
      d.string(s.anchor ?? "");
      d.num((s.action.tool_calls ?? []).length);
    }
  },
};

/** UTF-8 sorts as code points do, which UTF-16 does not. */
function byCodePoint(a, b) {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const d = x[i].codePointAt(0) - y[i].codePointAt(0);
    if (d !== 0) return d;
  }
  return x.length - y.length;
}
