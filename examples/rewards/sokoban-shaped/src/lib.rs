//! Sokoban with a reward for progress: 1 for a solved level, and half of a
//! point for all boxes on the way there. README.md has the formula.

use merit_reward::{register, Output, Role, Rollout};

/// What the progress of all boxes is worth together: an unsolved level stays
/// below it.
const PROGRESS: f64 = 0.5;

/// What a board holds: boxes off targets and on them.
#[derive(Clone, Copy, PartialEq)]
struct Board {
    off: u32,
    on: u32,
}

fn score(r: &Rollout, out: &mut Output) {
    let mut first: Option<Board> = None;
    let mut now: Option<Board> = None;
    let mut acted: Option<i32> = None; // the step that the next board answers
    let mut steps: u32 = 0;
    for m in r.messages() {
        if m.role == Role::Assistant {
            acted = m.assistant_index.map(|i| i as i32);
            continue;
        }
        let next = match read(m.content) {
            Some(b) => b,
            None => continue, // rules, or words
        };
        if let Some(b) = now {
            if b.off + b.on != next.off + next.on {
                return out.error("the number of boxes changes: these boards are not of one level");
            }
        }
        first = first.or(Some(next));
        now = Some(next);
        if acted.take().is_some() {
            steps += 1;
        }
    }
    let (first, last) = match (first, now) {
        (Some(a), Some(b)) if steps > 0 => (a, b),
        _ => return out.invalid("no board answers a move"),
    };
    let boxes = f64::from(last.off + last.on);
    if boxes == 0.0 {
        return out.error("the board has no boxes");
    }
    reward_steps(r, out, boxes);
    let solved = if last.off == 0 { 1.0 } else { 0.0 };
    let progress = PROGRESS * (f64::from(last.on) - f64::from(first.on)) / boxes;
    out.metric("solved", solved);
    out.metric("boxes_on_targets", f64::from(last.on));
    out.score(solved + progress);
}

/// The same once more for each move: what it changed, and 1 for the last one of
/// a solved level.
fn reward_steps(r: &Rollout, out: &mut Output, boxes: f64) {
    let mut before: Option<Board> = None;
    let mut acted = None;
    for m in r.messages() {
        if m.role == Role::Assistant {
            acted = m.assistant_index;
            continue;
        }
        let next = match read(m.content) {
            Some(b) => b,
            None => continue,
        };
        if let (Some(b), Some(step)) = (before, acted.take()) {
            let solved = if next.off == 0 && b.off > 0 { 1.0 } else { 0.0 };
            out.step(step, solved + PROGRESS * (f64::from(next.on) - f64::from(b.on)) / boxes);
        }
        before = Some(next);
    }
}

/// Counts the boxes of a text that is a board in the usual notation, line by
/// line; other lines, such as a clock, are passed over.
fn read(text: &str) -> Option<Board> {
    let (mut b, mut walls) = (Board { off: 0, on: 0 }, false);
    for line in text.lines() {
        if line.is_empty() || !line.bytes().all(|c| b"#@+$*. ".contains(&c)) {
            continue;
        }
        walls |= line.contains('#');
        b.off += line.bytes().filter(|&c| c == b'$').count() as u32;
        b.on += line.bytes().filter(|&c| c == b'*').count() as u32;
    }
    if walls {
        Some(b)
    } else {
        None
    }
}

register!(score);
