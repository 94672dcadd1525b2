//! Repeated trigrams; ngrams.py says the same in Python.

use merit_reward::{register, Output, Rollout};
use std::collections::HashSet;

fn score(r: &Rollout, out: &mut Output) {
    let words: Vec<&str> = r.answer().split_whitespace().collect();
    let distinct: HashSet<&[&str]> = words.windows(3).collect();
    out.score(match words.windows(3).count() {
        0 => 0.0,
        all => (1.0 - distinct.len() as f64 / all as f64) * -1.0,
    });
}

register!(score);
