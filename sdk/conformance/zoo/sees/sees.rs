//! As sees.py.

use merit_reward::{register, Output, Rollout};

#[derive(Default)]
struct Digest(u32);

impl Digest {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = self.0.wrapping_mul(31).wrapping_add(byte.into());
        }
    }
}

fn score(r: &Rollout, out: &mut Output) {
    let mut d = Digest::default();
    for m in r.messages() {
        [m.role_text, m.content, m.name, m.tool_call_id].map(|text| d.add(text));
        for c in r.tool_calls(&m) {
            [c.id, c.name, c.arguments, c.kind].map(|text| d.add(text));
        }
        for f in r.fields(&m) {
            d.add(f.key);
            d.add(r.field(&m, f.key).unwrap().text);
        }
    }
    d.add(&r.prompt_messages().map_or("-1".into(), |n| n.to_string()));
    d.add(yes(r.prompt_text()));
    d.add(yes(r.completion_text()));
    for f in r.metadata() {
        d.add(f.key);
        d.add(r.meta(f.key).unwrap().text);
    }
    out.score(d.0.into());
}

fn yes(b: bool) -> &'static str {
    if b { "y" } else { "n" }
}

register!(score);
