//! How a reward answers.

/// The level of a line in the log.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

/// Takes results one by one: nothing is collected in the guest.
pub struct Output {
    pub(crate) status: i32,
}

#[link(wasm_import_module = "merit_v1")]
extern "C" {
    fn set_score(score: f64);
    fn step(index: i32, base_reward: f64);
    fn step_metric(index: i32, name: *const u8, len: usize, value: f64);
    fn step_reason(index: i32, text: *const u8, len: usize);
    fn metric(name: *const u8, len: usize, value: f64);
    fn reason(text: *const u8, len: usize);
    fn error(text: *const u8, len: usize);
    fn log(level: i32, text: *const u8, len: usize);
    fn member(index: i32);
}

// SAFETY of all calls below: the host checks every pointer, length and number,
// and reads the bytes before it returns.
impl Output {
    /// Set the score, once.
    pub fn score(&mut self, score: f64) {
        unsafe { set_score(score) }
    }

    /// Set the base reward of the step with this index among the assistant
    /// messages, once a step.
    pub fn step(&mut self, index: u32, base_reward: f64) {
        unsafe { step(index as i32, base_reward) }
    }

    /// Add a measurement to a step that has its reward.
    pub fn step_metric(&mut self, index: u32, name: &str, value: f64) {
        unsafe { step_metric(index as i32, name.as_ptr(), name.len(), value) }
    }

    /// Explain a step that has its reward.
    pub fn step_reason(&mut self, index: u32, text: &str) {
        unsafe { step_reason(index as i32, text.as_ptr(), text.len()) }
    }

    /// Add a measurement.
    pub fn metric(&mut self, name: &str, value: f64) {
        unsafe { metric(name.as_ptr(), name.len(), value) }
    }

    /// Explain the result.
    pub fn reason(&mut self, text: &str) {
        unsafe { reason(text.as_ptr(), text.len()) }
    }

    /// Say that there is no valid score: the rollout, in a group the member,
    /// leaves the baseline.
    pub fn invalid(&mut self, why: &str) {
        self.reason(why);
        self.status = 1;
    }

    /// Say that the reward itself failed.
    pub fn error(&mut self, text: &str) {
        unsafe { error(text.as_ptr(), text.len()) }
        self.status = 2;
    }

    /// Write a line to the log of the evaluation.
    pub fn log(&mut self, level: Level, text: &str) {
        unsafe { log(level as i32, text.as_ptr(), text.len()) }
    }

    /// In a group reward: let the following results speak of member i.
    pub fn member(&mut self, i: usize) {
        unsafe { member(i as i32) }
    }
}
