//! Reads every field and reports a digest of each section, as
//! sdk/conformance/README.md describes. With `--cfg group` it is a group reward.

use merit_reward::{Kind, Output, Rollout, Value};

/// FNV-1a, 32 bits.
struct Digest(u32);

impl Digest {
    fn new() -> Self {
        Digest(0x811c_9dc5)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u32::from(*b)).wrapping_mul(0x0100_0193);
        }
    }

    fn u32(&mut self, n: u32) {
        self.bytes(&n.to_le_bytes());
    }

    fn index(&mut self, n: Option<u32>) {
        self.u32(n.unwrap_or(u32::MAX));
    }

    fn f64(&mut self, n: f64) {
        self.bytes(&n.to_le_bytes());
    }

    fn str(&mut self, s: &str) {
        self.u32(s.len() as u32);
        self.bytes(s.as_bytes());
    }

    fn value(&mut self, v: &Value) {
        self.u32(v.kind as u32);
        match v.kind {
            Kind::String => self.str(v.text),
            Kind::Number => self.f64(v.number),
            Kind::Bool => self.u32(u32::from(v.boolean)),
            _ => {}
        }
    }

    fn raw(&mut self, v: &Value) {
        self.str(v.json);
        self.str(v.text);
        self.f64(v.number);
        self.u32(u32::from(v.boolean));
    }

    fn report(self, out: &mut Output, section: &str) {
        out.metric(section, f64::from(self.0));
    }
}

fn trajectory(r: &Rollout, out: &mut Output) {
    let mut d = Digest::new();
    d.str(r.id());
    d.str(r.group());
    d.str(r.task());
    d.u32(r.stop_reason() as u32);
    d.u32(r.assistant_count());
    d.index(r.last_assistant());
    d.str(r.answer());
    d.report(out, "trajectory");
}

fn messages(r: &Rollout, out: &mut Output) {
    let (mut d, mut calls) = (Digest::new(), Digest::new());
    d.u32(r.message_count() as u32);
    for (i, m) in r.messages().enumerate() {
        d.u32(m.role as u32);
        d.index(m.assistant_index);
        d.str(m.role_text);
        d.str(m.content);
        d.str(m.name);
        d.str(m.tool_call_id);
        d.u32(u32::from(m.null));
        d.index(m.step);
        d.u32(m.tool_call_count);
        for c in r.tool_calls(&m) {
            calls.u32(i as u32);
            calls.str(c.id);
            calls.str(c.name);
            calls.str(c.arguments);
            calls.str(c.kind);
        }
    }
    d.report(out, "messages");
    calls.report(out, "tool_calls");
}

fn values(r: &Rollout, out: &mut Output) {
    let (mut truth, mut meta, mut raw) = (Digest::new(), Digest::new(), Digest::new());
    truth.value(&r.ground_truth());
    raw.raw(&r.ground_truth());
    meta.u32(r.metadata().count() as u32);
    for f in r.metadata() {
        meta.str(f.key);
        meta.value(&f.value);
        raw.raw(&f.value);
    }
    for m in r.messages() {
        raw.str(m.parts);
    }
    truth.report(out, "ground_truth");
    meta.report(out, "metadata");
    raw.report(out, "raw");
}

fn steps(r: &Rollout, out: &mut Output) {
    let mut d = Digest::new();
    d.u32(r.steps().count() as u32);
    for s in r.steps() {
        d.index(s.message);
        d.str(s.action);
        d.u32(s.action_kind as u32);
        d.u32(s.choice as u32);
        d.u32(u32::from(s.action_valid));
        d.f64(s.reward);
        d.u32(u32::from(s.terminated));
        d.u32(u32::from(s.truncated));
        d.str(s.anchor);
        d.u32(s.tool_call_count);
    }
    d.report(out, "steps");
}

fn outputs(r: &Rollout, out: &mut Output) {
    for m in r.messages() {
        let step = match m.assistant_index {
            Some(step) => step,
            None => continue,
        };
        out.step(step, m.content.len() as f64);
        out.step_metric(step, "tool_calls", f64::from(m.tool_call_count));
        if let Some(call) = r.tool_calls(&m).next() {
            out.step_reason(step, call.name);
        }
    }
}

fn check(r: &Rollout, out: &mut Output) {
    match r.meta("conformance").map_or("", |v| v.text) {
        "invalid" => return out.invalid("invalid as asked"),
        "error" => return out.error("error as asked"),
        _ => {}
    }
    trajectory(r, out);
    messages(r, out);
    values(r, out);
    steps(r, out);
    outputs(r, out);
    out.reason(r.id());
    out.score(r.message_count() as f64);
}

#[cfg(not(group))]
fn one(r: &Rollout, out: &mut Output) {
    out.log(merit_reward::Level::Info, "conformance");
    check(r, out);
}

#[cfg(not(group))]
merit_reward::register!(one);

#[cfg(group)]
fn group(g: &merit_reward::Group, out: &mut Output) {
    for (i, r) in g.members().enumerate() {
        out.member(i);
        out.metric("members", g.len() as f64);
        check(&r, out);
    }
}

#[cfg(group)]
merit_reward::register_group!(group);
