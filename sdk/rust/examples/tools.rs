//! Rewards every step that calls tools by what became of its calls. The rules
//! stand in sdk/conformance/README.md.

use merit_reward::{register, Message, Output, Role, Rollout, ToolCall};

const MALFORMED: &str = "malformed arguments";

fn score(r: &Rollout, out: &mut Output) {
    let (mut calls, mut good, mut malformed) = (0, 0, 0);
    for (i, m) in r.messages().enumerate() {
        let step = match m.assistant_index {
            Some(step) if m.tool_call_count > 0 => step,
            _ => continue,
        };
        let (mut sum, mut first) = (0.0, None);
        for call in r.tool_calls(&m) {
            let problem = problem(r, i, &call);
            match problem {
                None => {
                    sum += 1.0;
                    good += 1;
                }
                Some(MALFORMED) => {
                    sum -= 0.5;
                    malformed += 1;
                }
                Some(_) => {}
            }
            first = first.or(problem);
        }
        calls += m.tool_call_count;
        out.step(step, sum / f64::from(m.tool_call_count));
        out.step_metric(step, "calls", f64::from(m.tool_call_count));
        if let Some(problem) = first {
            out.step_reason(step, problem);
        }
    }
    if calls == 0 {
        return out.invalid("no tool was called");
    }
    out.metric("calls", f64::from(calls));
    out.metric("malformed", f64::from(malformed));
    out.score(f64::from(good) / f64::from(calls));
}

/// What is wrong with a call of message i. Its result stands among the tool
/// messages that follow directly.
fn problem(r: &Rollout, i: usize, call: &ToolCall) -> Option<&'static str> {
    if !object(call.arguments) {
        return Some(MALFORMED);
    }
    let answers = |m: &Message| m.tool_call_id == call.id;
    match r.messages().skip(i + 1).take_while(|m| m.role == Role::Tool).find(answers) {
        None => Some("no result"),
        Some(m) if failed(m.content) => Some("the tool failed"),
        Some(_) => None,
    }
}

fn trim(s: &str) -> &[u8] {
    s.trim_matches(|c| c == ' ' || ('\t'..='\r').contains(&c)).as_bytes()
}

/// Whether text begins with "error" in any case.
fn failed(text: &str) -> bool {
    let text = trim(text);
    text.len() >= 5 && text[..5].eq_ignore_ascii_case(b"error")
}

/// Whether text looks like a JSON object: braces and brackets outside of
/// strings close only at its end.
fn object(text: &str) -> bool {
    let text = trim(text);
    if !text.starts_with(b"{") || !text.ends_with(b"}") {
        return false;
    }
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (i, c) in text.iter().enumerate() {
        match c {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return i == text.len() - 1;
                }
            }
            _ => {}
        }
    }
    false
}

register!(score);
