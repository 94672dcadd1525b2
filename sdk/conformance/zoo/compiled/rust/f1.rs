//! The F1 of the words of answer and truth; f1.py says the same in Python.

use merit_reward::{register, Output, Rollout};
use std::collections::HashMap;

fn score(r: &Rollout, out: &mut Output) {
    let (got, want) = (words(r.answer()), words(r.ground_truth().text));
    let mut left = HashMap::new();
    for word in &want {
        *left.entry(word).or_insert(0) += 1;
    }
    let common = got.iter().filter(|word| match left.get_mut(word) {
        Some(n) if *n > 0 => {
            *n -= 1;
            true
        }
        _ => false,
    });
    let common = common.count() as f64;
    if common == 0.0 {
        return out.score(0.0);
    }
    let (precision, recall) = (common / got.len() as f64, common / want.len() as f64);
    out.score(2.0 * precision * recall / (precision + recall));
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).map(String::from).collect()
}

register!(score);
