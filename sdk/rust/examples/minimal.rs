use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    out.score(if r.answer() == r.ground_truth().text { 1.0 } else { 0.0 });
}

register!(score);
