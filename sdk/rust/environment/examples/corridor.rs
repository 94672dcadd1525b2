//! The corridor of merit plugin new, in Rust: find the way out at its right end.
use merit_environment::{environment, random, About, Action, Environment, Opt, Setup, Turn};
use std::fmt::Write;

struct Corridor {
    length: usize,
    starts: Vec<usize>, // those of the split
    at: usize,
    steps: usize,
}

/// Each cell belongs to one split: 3 of 5 to train, the others to validation and test.
fn split_of(cell: usize) -> &'static str {
    match cell % 5 {
        0..=2 => "train",
        3 => "validation",
        _ => "test",
    }
}

impl Corridor {
    fn look(&self, turn: &mut Turn) {
        let _ = write!(turn.anchor, "{}", self.at);
        if turn.wants_text {
            let _ = write!(turn.text, "You are {} steps from the left wall.", self.at);
        }
        if turn.wants_features {
            turn.features.resize(self.length, 0.0);
            turn.features[self.at] = 1.0;
        }
    }
}

impl Environment for Corridor {
    const ABOUT: About = About {
        name: "corridor",
        version: "1.0.0",
        summary: "Find the way out of a corridor.",
        options: &[Opt { key: "length", value: 24, least: 6, most: 64 }],
    };

    fn new(setup: &Setup) -> Result<Corridor, String> {
        let length = setup.option("length") as usize;
        let starts: Vec<usize> = (0..length - 1).filter(|&cell| split_of(cell) == setup.split).collect();
        if starts.is_empty() {
            return Err("no tasks are left for this split".into());
        }
        Ok(Corridor { length, starts, at: 0, steps: 0 })
    }

    fn spec(&self) -> String {
        format!(
            r#"{{"actions": ["left", "right"], "feature_shape": [{}], "max_steps": {}, "system": "You are in a dark corridor. Its right end is the way out. Answer with left or right."}}"#,
            self.length,
            2 * self.length
        )
    }

    fn reset(&mut self, mut seed: u64, turn: &mut Turn) {
        self.at = self.starts[(random(&mut seed) % self.starts.len() as u64) as usize];
        self.steps = 0;
        self.look(turn);
    }

    fn step(&mut self, action: &Action, turn: &mut Turn) {
        turn.invalid_action = action.index == 0 && self.at == 0;
        self.at = if action.index == 1 { self.at + 1 } else { self.at.saturating_sub(1) };
        self.steps += 1;
        turn.terminated = self.at == self.length - 1;
        turn.truncated = !turn.terminated && self.steps == 2 * self.length;
        if turn.terminated {
            turn.reward = 1.0;
        }
        if turn.terminated || turn.truncated {
            turn.metric("steps", self.steps as f64);
        }
        self.look(turn);
    }
}

environment!(Corridor);
