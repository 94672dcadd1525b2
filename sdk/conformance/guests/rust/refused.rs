//! Tries what its conversation's last answer names, and scores 0 if that fails,
//! as if the answer were wrong.

use merit_reward::{register, Output, Rollout};
use std::{collections::HashMap, env, fs, time::SystemTime};

fn score(r: &Rollout, out: &mut Output) {
    let done = match r.answer() {
        "read" => fs::read("/etc/passwd").is_ok(),
        "write" => fs::write("/tmp/log.txt", "x").is_ok(),
        "relative" => fs::read_to_string("data/answers.json").is_ok(),
        "stat" => fs::metadata("/data").is_ok(),
        "mkdir" => fs::create_dir("/tmp/x").is_ok(),
        _ => {
            let seen: HashMap<u8, SystemTime> = [(1, SystemTime::now())].into();
            seen.len() == 1 && env::var("KEY").is_err()
        }
    };
    out.score(if done { 1.0 } else { 0.0 });
}

register!(score);
