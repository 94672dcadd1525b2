//! What the author of an environment in Rust writes against. An environment is a type that
//! plays one slot:
//!
//! ```ignore
//! use merit_environment::{environment, About, Action, Environment, Opt, Setup, Turn};
//!
//! impl Environment for Corridor {
//!     const ABOUT: About = About { name: "corridor", version: "1.0.0", summary: "Find the way out.", options: OPTIONS };
//!     fn new(setup: &Setup) -> Result<Corridor, String> { … }
//!     fn spec(&self) -> String { … } // JSON
//!     fn reset(&mut self, seed: u64, turn: &mut Turn) { … }
//!     fn step(&mut self, action: &Action, turn: &mut Turn) { … }
//! }
//!
//! environment!(Corridor);
//! ```
//!
//! `examples/corridor.rs` is a complete one. Every slot has its own memory, and every episode
//! begins with the memory as `new` left it. The layout is that of
//! docs/environment-modules.md, version 1. The target must be 32-bit WebAssembly.

mod setup;

pub use setup::{Opt, Setup};

/// What an environment is called, and the options that a configuration may set.
pub struct About {
    pub name: &'static str,
    pub version: &'static str,
    pub summary: &'static str,
    pub options: &'static [Opt],
}

/// An environment, which plays one episode at a time.
pub trait Environment: Sized {
    const ABOUT: About;
    /// Creates the environment. An error is what Merit reports.
    fn new(setup: &Setup) -> Result<Self, String>;
    /// What it offers, as JSON: `actions`, `feature_shape`, `max_steps`, `system`, `tools`, `tasks`.
    fn spec(&self) -> String;
    /// Begins the episode of a seed.
    fn reset(&mut self, seed: u64, turn: &mut Turn);
    fn step(&mut self, action: &Action, turn: &mut Turn);
}

/// The index of an action, or the text that an environment without a list of actions takes.
pub struct Action<'a> {
    pub index: usize,
    pub text: &'a str,
}

/// What a reset or a step answers. It is empty before each call.
#[derive(Default)]
pub struct Turn {
    /// Finite; 0 after a reset.
    pub reward: f64,
    pub terminated: bool,
    pub truncated: bool,
    /// The action had no legal effect.
    pub invalid_action: bool,
    /// The raw observation: equal anchors are equal states.
    pub anchor: String,
    /// The observation for a reader; without it, the anchor.
    pub text: String,
    /// Row-major and finite; needed if `wants_features`.
    pub features: Vec<f32>,
    /// One byte for each action, 1 = available; without it, all are.
    pub mask: Vec<u8>,
    pub wants_text: bool,
    pub wants_features: bool,
    failed: bool,
    events: Vec<(u32, String, String)>,
}

impl Turn {
    /// Reports a number about the episode; the last one of a name counts. It must be finite.
    pub fn metric(&mut self, name: &str, value: f64) { self.report(3, name, &value.to_string()); }
    /// Reports the answer of a tool, which becomes a message of the conversation.
    pub fn tool(&mut self, name: &str, answer: &str) { self.report(1, name, answer); }
    /// Reports a JSON value about the step.
    pub fn info(&mut self, key: &str, json: &str) { self.report(2, key, json); }
    /// Sets the task that the episode starts from, in JSON; in `reset` only.
    pub fn task(&mut self, json: &str) { self.report(4, "", json); }
    /// Fails the slot: Merit ends its episode with this reason.
    pub fn fail(&mut self, reason: &str) {
        self.failed = true;
        self.report(0, "", reason);
    }

    fn report(&mut self, kind: u32, name: &str, message: &str) { self.events.push((kind, name.into(), message.into())); }

    /// Empties the turn, and keeps its memory.
    fn begin(&mut self, want: u32) {
        self.anchor.clear();
        self.text.clear();
        self.features.clear();
        self.mask.clear();
        self.events.clear();
        self.reward = 0.0;
        self.terminated = false;
        self.truncated = false;
        self.invalid_action = false;
        self.failed = false;
        self.wants_text = want & 1 != 0;
        self.wants_features = want & 2 != 0;
    }
}

/// A pseudo-random number (SplitMix64). Begin with the seed of the reset.
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Span(u32, u32);

fn span<T>(list: &[T]) -> Span { Span(list.as_ptr() as usize as u32, list.len() as u32) }

/// The blocks of block.go, as the host reads them.
#[doc(hidden)]
#[repr(C)]
#[derive(Default)]
pub struct Block {
    reward: f64,
    flags: u32,
    reserved: u32,
    spans: [Span; 5], // anchor, text, features, mask, events
}

#[doc(hidden)]
#[repr(C)]
#[derive(Default)]
pub struct Answer(u32, Span);

#[repr(C)]
struct Event(u32, Span, Span);

/// The state of a module, which `environment!` puts into a static.
#[doc(hidden)]
pub struct Module<E> {
    environment: Option<E>,
    turn: Turn,
    block: Block,
    events: Vec<Event>,
    answer: Answer,
    said: String,
    room: Vec<u64>, // of merit_alloc; u64 so that it is 8-aligned
}

impl<E: Environment> Module<E> {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Module { environment: None, turn: Turn::default(), block: Block::default(), events: Vec::new(), answer: Answer::default(), said: String::new(), room: Vec::new() }
    }

    pub fn alloc(&mut self, size: usize) -> *mut u64 {
        self.room.resize(self.room.len().max(size / 8 + 1), 0);
        self.room.as_mut_ptr()
    }

    fn say(&mut self, said: Result<String, String>) -> &Answer {
        let failed = said.is_err();
        self.said = said.unwrap_or_else(|reason| reason);
        self.answer = Answer(failed.into(), span(self.said.as_bytes()));
        &self.answer
    }

    pub fn describe(&mut self) -> &Answer {
        let a = E::ABOUT;
        let options: Vec<String> = a.options.iter().map(|o| format!("\"{}\": {}", o.key, o.value)).collect();
        let text = format!("{{\"name\": \"{}\", \"version\": \"{}\", \"summary\": \"{}\", \"options\": {{{}}}}}", a.name, a.version, a.summary, options.join(", "));
        self.say(Ok(text))
    }

    pub fn configure(&mut self, size: usize) -> &Answer {
        let text = self.input(size).to_string();
        let made = Setup::read(&text, E::ABOUT.options).and_then(|setup| E::new(&setup));
        let said = made.map(|e| self.environment.insert(e).spec());
        self.say(said)
    }

    /// What the host wrote to `room`.
    fn input(&self, size: usize) -> &str {
        // SAFETY: the host wrote that many bytes of UTF-8 to the memory that alloc returned.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.room.as_ptr().cast(), size.min(self.room.len() * 8))) }
    }

    pub fn reset(&mut self, seed: u64, want: u32) -> &Block {
        self.turn.begin(want);
        self.environment.as_mut().unwrap().reset(seed, &mut self.turn);
        self.show()
    }

    pub fn step(&mut self, action: i32, size: usize, want: u32) -> &Block {
        self.turn.begin(want);
        let text = if size > 0 { self.input(size).to_string() } else { String::new() };
        let action = Action { index: action as usize, text: &text };
        self.environment.as_mut().unwrap().step(&action, &mut self.turn);
        self.show()
    }

    fn show(&mut self) -> &Block {
        let t = &self.turn;
        self.events.clear();
        self.events.extend(t.events.iter().map(|(kind, name, message)| Event(*kind, span(name.as_bytes()), span(message.as_bytes()))));
        self.block.reward = t.reward;
        self.block.flags = u32::from(t.terminated) | u32::from(t.truncated) << 1 | u32::from(t.failed) << 2 | u32::from(t.invalid_action) << 3;
        self.block.spans = [span(t.anchor.as_bytes()), span(t.text.as_bytes()), span(&t.features), span(&t.mask), span(&self.events)];
        &self.block
    }
}

/// Makes a type that implements `Environment` the environment of the module.
#[macro_export]
macro_rules! environment {
    ($type:ty) => {
        static mut MODULE: Option<$crate::Module<$type>> = None;

        // A module has one thread, and the host does not re-enter it.
        fn module() -> &'static mut $crate::Module<$type> {
            unsafe { (*core::ptr::addr_of_mut!(MODULE)).get_or_insert_with(|| $crate::Module::new()) }
        }
        #[no_mangle]
        pub extern "C" fn merit_environment_1() {}
        #[no_mangle]
        pub extern "C" fn merit_alloc(size: usize) -> *mut u64 { module().alloc(size) }
        #[no_mangle]
        pub extern "C" fn merit_describe() -> *const $crate::Answer { module().describe() }
        #[no_mangle]
        pub extern "C" fn merit_configure(_: *const u8, size: usize) -> *const $crate::Answer { module().configure(size) }
        #[no_mangle]
        pub extern "C" fn merit_reset(seed: u64, want: u32) -> *const $crate::Block { module().reset(seed, want) }
        #[no_mangle]
        pub extern "C" fn merit_step(action: i32, _: *const u8, size: usize, want: u32) -> *const $crate::Block { module().step(action, size, want) }
    };
}
