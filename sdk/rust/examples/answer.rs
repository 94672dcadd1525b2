//! Compares the number at the end of the last assistant message with the ground
//! truth. The rules stand in sdk/conformance/README.md.

use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    let want = match number(r.ground_truth().text) {
        Some(n) => n,
        None => return out.invalid("the ground truth holds no number"),
    };
    match last(r.answer()).map(number) {
        None => wrong(out, "no answer after A: or ####"),
        Some(None) => wrong(out, "the answer holds no number"),
        Some(Some(got)) => out.score(if got == want { 1.0 } else { 0.0 }),
    }
}

fn wrong(out: &mut Output, reason: &str) {
    out.score(0.0);
    out.reason(reason);
}

/// The text behind the last "A:" or "####" that begins a line.
fn last(answer: &str) -> Option<&str> {
    answer.rsplit('\n').map(trim).find_map(|line| line.strip_prefix("A:").or_else(|| line.strip_prefix("####")))
}

fn trim(s: &str) -> &str {
    s.trim_matches(|c| c == ' ' || ('\t'..='\r').contains(&c))
}

/// The first number of a text that may hold a currency sign, thousands
/// separators, units and a full stop.
fn number(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit_at = |i: usize| bytes.get(i).map_or(false, u8::is_ascii_digit);
    let start = bytes.iter().position(u8::is_ascii_digit)?;
    let (mut end, mut point) = (start, false);
    while end < bytes.len() {
        match bytes[end] {
            b'0'..=b'9' => {}
            b',' if digit_at(end + 1) => {}
            b'.' if !point && digit_at(end + 1) => point = true,
            _ => break,
        }
        end += 1;
    }
    let from = if text[..start].ends_with('.') { start - 1 } else { start };
    let value = merit_reward::number(&text[from..end])?;
    let before = text[..from].trim_end_matches(&['$', '€', '£', ' '][..]);
    Some(if before.ends_with(&['-', '−'][..]) { -value } else { value })
}

register!(score);
