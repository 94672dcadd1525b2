//! Takes memory from the allocator beside the input: neither may lie over the
//! other. The score is 1 if the answer is what it was.

use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    let before = r.answer().to_string();
    let blocks: Vec<Vec<u8>> = (0..40).map(|_| vec![b'x'; 20000]).collect();
    let same = !before.is_empty() && before == r.answer() && blocks.iter().all(|b| b.iter().all(|c| *c == b'x'));
    out.score(if same { 1.0 } else { 0.0 });
}

register!(score);
