//! The format of an answer; format.py says the same in Python.

use merit_reward::{register, Output, Rollout};

const TAGS: [&str; 4] = ["<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"];

fn score(r: &Rollout, out: &mut Output) {
    let text = r.answer();
    let once = TAGS.iter().filter(|tag| text.matches(**tag).count() == 1).count();
    out.score(0.125 * once as f64 + if matches(text) { 0.5 } else { 0.0 });
}

fn matches(text: &str) -> bool {
    text.strip_prefix("<think>\n")
        .and_then(|rest| rest.split_once("\n</think>\n<answer>\n"))
        .map_or(false, |(_, answer)| answer.ends_with("\n</answer>"))
}

register!(score);
