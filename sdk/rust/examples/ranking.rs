//! Ranks the members of a group: the shortest right answer is best. The rules
//! stand in sdk/conformance/README.md.

use merit_reward::{register_group, Group, Output, Rollout};

fn rank(g: &Group, out: &mut Output) {
    let right_lengths = || g.members().filter(right).map(|r| r.answer().len());
    let count = right_lengths().count() as f64;
    for (i, r) in g.members().enumerate() {
        out.member(i);
        if truth(&r).is_empty() {
            out.invalid("no ground truth");
            continue;
        }
        if r.last_assistant().is_none() {
            out.invalid("no answer");
            continue;
        }
        let length = r.answer().len();
        out.metric("length", length as f64);
        if !right(&r) {
            out.score(0.0);
            continue;
        }
        let shorter = right_lengths().filter(|l| *l < length).count() as f64;
        out.metric("rank", shorter + 1.0);
        out.score((count - shorter) / count);
    }
}

fn truth<'a>(r: &Rollout<'a>) -> &'a str {
    trim(r.ground_truth().text)
}

/// Whether the last line that is not blank is the ground truth.
fn right(r: &Rollout) -> bool {
    let last = r.answer().rsplit('\n').map(trim).find(|line| !line.is_empty());
    last == Some(truth(r))
}

fn trim(s: &str) -> &str {
    s.trim_matches(|c| c == ' ' || ('\t'..='\r').contains(&c))
}

register_group!(rank);
