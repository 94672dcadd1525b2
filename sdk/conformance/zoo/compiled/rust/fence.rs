//! The last fenced block; fence.py says the same in Python.

use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    out.score(match last_block(r.answer()) {
        None => 0.0,
        Some(code) => 0.2 + 0.3 * flag(code.contains("return")) + 0.5 * flag(code.matches("def ").count() == 1),
    });
}

fn last_block(mut rest: &str) -> Option<&str> {
    let mut last = None;
    while let Some((_, after)) = rest.split_once("```") {
        let named = after.strip_prefix("python").filter(|code| code.starts_with('\n')).unwrap_or(after);
        rest = after;
        if let Some((code, behind)) = named.strip_prefix('\n').and_then(|code| code.split_once("```")) {
            last = Some(code);
            rest = behind;
        }
    }
    last
}

fn flag(yes: bool) -> f64 {
    if yes { 1.0 } else { 0.0 }
}

register!(score);
