//! The number at the end of an answer; number.py says the same in Python.

use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    let want: f64 = match r.ground_truth().text.parse() {
        Ok(n) => n,
        Err(_) => return out.error("the ground truth is not a number"),
    };
    let tail = r.answer().rsplit("####").next().unwrap_or("");
    out.score(match last_number(tail) {
        None => 0.0,
        Some(got) if got == want => 1.0,
        Some(got) => (0.5 - (got - want).abs() / (want.abs() + 1.0)).max(0.0),
    });
}

fn last_number(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).map_or(false, u8::is_ascii_digit);
    let (mut last, mut i) = (None, 0);
    while i < bytes.len() {
        let first = if bytes[i] == b'-' { i + 1 } else { i };
        if !digit(first) {
            i += 1;
            continue;
        }
        let mut end = first;
        while digit(end) || bytes.get(end) == Some(&b',') {
            end += 1;
        }
        if bytes.get(end) == Some(&b'.') && digit(end + 1) {
            end += 1;
            while digit(end) {
                end += 1;
            }
        }
        last = Some(&text[i..end]);
        i = end;
    }
    last?.replace(',', "").parse().ok()
}

register!(score);
