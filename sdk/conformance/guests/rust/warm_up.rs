//! Counts its calls: 10 for the warm-up, 1 for an evaluation. Every score is 11.

use core::sync::atomic::{AtomicU32, Ordering};
use merit_reward::{register, register_warm_up, Output, Rollout};

static CALLS: AtomicU32 = AtomicU32::new(0);

fn ready() {
    CALLS.fetch_add(10, Ordering::Relaxed);
}
register_warm_up!(ready);

fn score(_: &Rollout, out: &mut Output) {
    out.score(f64::from(CALLS.fetch_add(1, Ordering::Relaxed) + 1));
}
register!(score);
