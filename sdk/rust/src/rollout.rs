//! What a reward reads.

use crate::read::Buffer;

// Where the tables stand in the header: count, offset, stride.
const MESSAGES: usize = 24;
const FIELDS: usize = 168;
const TOOL_CALLS: usize = 36;
const METADATA: usize = 48;
const STEPS: usize = 60;
const MEMBERS: usize = 72;

macro_rules! number_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $n:literal),* } else $other:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant = $n),* }

        impl $name {
            fn from_u32(n: u32) -> Self {
                match n { $($n => Self::$variant,)* _ => Self::$other }
            }
        }
    };
}

number_enum! {
    /// The role of a message; `Other` is spelt out in `role_text`.
    Role { Other = 0, System = 1, User = 2, Assistant = 3, Tool = 4 } else Other
}

number_enum! {
    /// Why the episode ended.
    StopReason { None = 0, Terminated = 1, Truncated = 2, PolicyEnded = 3, Pattern = 4, Error = 5 } else None
}

number_enum! {
    /// The form of an action.
    ActionKind { None = 0, Choice = 1, Text = 2, Tool = 3 } else None
}

number_enum! {
    /// The JSON type of a [`Value`].
    Kind { Absent = 0, String = 1, Number = 2, Bool = 3, Null = 4,
        /// A list, an object, or a number too large for an f64.
        Json = 5 } else Absent
}

/// One trajectory to score: a conversation, what its task says about it, and
/// what the environment saw.
#[derive(Clone, Copy)]
pub struct Rollout<'a>(pub(crate) Buffer<'a>);

/// One turn of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub role: Role,
    /// The step index that [`crate::Output::step`] takes; `None` unless this
    /// is an assistant message behind the prompt.
    pub assistant_index: Option<u32>,
    pub role_text: &'a str,
    /// Of a list of parts: the text parts, joined.
    pub content: &'a str,
    pub name: &'a str,
    pub tool_call_id: &'a str,
    pub tool_call_count: u32,
    /// The content was null.
    pub null: bool,
    /// JSON of the list of parts, or empty.
    pub parts: &'a str,
    /// Index of the step whose action this message is.
    pub step: Option<u32>,
    first_tool_call: u32,
    first_field: u32,
    field_count: u32,
}

/// A request of the assistant to run a tool. `arguments` is JSON text as the
/// model wrote it, valid or not.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub arguments: &'a str,
    pub kind: &'a str,
}

/// Any JSON value; no parser is needed for the simple ones.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    pub kind: Kind,
    /// As it came.
    pub json: &'a str,
    /// A string's text; for other kinds the same as `json`.
    pub text: &'a str,
    pub number: f64,
    pub boolean: bool,
}

/// One entry of the metadata.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub key: &'a str,
    pub value: Value<'a>,
}

/// One decision as the environment saw it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Index of the message with the action.
    pub message: Option<u32>,
    pub action: &'a str,
    pub action_kind: ActionKind,
    /// Index of the action, for choices.
    pub choice: i32,
    pub action_valid: bool,
    /// The environment's own reward.
    pub reward: f64,
    pub terminated: bool,
    pub truncated: bool,
    /// Raw state before the action.
    pub anchor: &'a str,
    pub tool_call_count: u32,
}

/// The members of a group: trajectories from one identical start.
#[derive(Clone, Copy)]
pub struct Group<'a>(pub(crate) Buffer<'a>);

fn index(n: i32) -> Option<u32> {
    u32::try_from(n).ok()
}

fn value<'a>(b: Buffer<'a>, at: usize) -> Value<'a> {
    Value {
        kind: Kind::from_u32(b.u32(at)),
        boolean: b.u32(at + 4) != 0,
        json: b.str(at + 8),
        text: b.str(at + 16),
        number: b.f64(at + 24),
    }
}

impl<'a> Rollout<'a> {
    pub fn id(&self) -> &'a str {
        self.0.str(104)
    }

    pub fn group(&self) -> &'a str {
        self.0.str(112)
    }

    pub fn task(&self) -> &'a str {
        self.0.str(120)
    }

    pub fn ground_truth(&self) -> Value<'a> {
        value(self.0, 128)
    }

    pub fn stop_reason(&self) -> StopReason {
        StopReason::from_u32(self.0.u32(20))
    }

    /// The number of assistant messages, those of the prompt included.
    pub fn assistant_count(&self) -> u32 {
        self.0.u32(92)
    }

    /// Index of the last assistant message.
    pub fn last_assistant(&self) -> Option<u32> {
        index(self.0.i32(96))
    }

    /// How many messages are the prompt's; `None` if nobody said.
    pub fn prompt_messages(&self) -> Option<u32> {
        if self.0.u32(8) < 184 { None } else { index(self.0.i32(160)) }
    }

    /// The data had a text for the prompt, and no list of messages.
    pub fn prompt_text(&self) -> bool {
        self.0.u32(8) >= 184 && self.0.u32(164) & 1 != 0
    }

    /// The data had a text for the completion, and no list of messages.
    pub fn completion_text(&self) -> bool {
        self.0.u32(8) >= 184 && self.0.u32(164) & 2 != 0
    }

    /// The content of the last assistant message, or "".
    pub fn answer(&self) -> &'a str {
        self.last_assistant().map_or("", |i| self.message(i as usize).content)
    }

    pub fn message_count(&self) -> usize {
        self.0.u32(MESSAGES) as usize
    }

    pub fn message(&self, i: usize) -> Message<'a> {
        let (b, at) = (self.0, self.0.row(MESSAGES, i));
        let late = b.u32(MESSAGES + 8) >= 72;
        Message {
            first_field: if late { b.u32(at + 64) } else { 0 },
            field_count: if late { b.u32(at + 68) } else { 0 },
            role: Role::from_u32(b.u32(at)),
            assistant_index: index(b.i32(at + 4)),
            role_text: b.str(at + 8),
            content: b.str(at + 16),
            name: b.str(at + 24),
            tool_call_id: b.str(at + 32),
            first_tool_call: b.u32(at + 40),
            tool_call_count: b.u32(at + 44),
            null: b.u32(at + 48) & 1 != 0,
            step: index(b.i32(at + 52)),
            parts: b.str(at + 56),
        }
    }

    pub fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        let r = *self;
        (0..r.message_count()).map(move |i| r.message(i))
    }

    /// The tool calls of a message of this rollout.
    pub fn tool_calls(&self, m: &Message<'a>) -> impl Iterator<Item = ToolCall<'a>> {
        let (b, first) = (self.0, m.first_tool_call);
        (first..first + m.tool_call_count).map(move |i| {
            let at = b.row(TOOL_CALLS, i as usize);
            ToolCall { id: b.str(at), name: b.str(at + 8), arguments: b.str(at + 16), kind: b.str(at + 24) }
        })
    }

    /// What a message of this rollout has beside its own fields, such as
    /// `reasoning_content`. The field `as_given` is an object of what was written
    /// in another form: a role in another spelling, tool calls in another shape.
    pub fn fields(&self, m: &Message<'a>) -> impl Iterator<Item = Field<'a>> {
        let (b, first) = (self.0, m.first_field);
        (first..first + m.field_count).map(move |i| {
            let at = b.row(FIELDS, i as usize);
            Field { key: b.str(at), value: value(b, at + 8) }
        })
    }

    /// The field of a message under key.
    pub fn field(&self, m: &Message<'a>, key: &str) -> Option<Value<'a>> {
        self.fields(m).find(|f| f.key == key).map(|f| f.value)
    }

    /// The metadata, keys ascending.
    pub fn metadata(&self) -> impl Iterator<Item = Field<'a>> {
        let b = self.0;
        (0..b.u32(METADATA) as usize).map(move |i| {
            let at = b.row(METADATA, i);
            Field { key: b.str(at), value: value(b, at + 8) }
        })
    }

    /// The metadata under key.
    pub fn meta(&self, key: &str) -> Option<Value<'a>> {
        self.metadata().find(|f| f.key == key).map(|f| f.value)
    }

    /// What the environment saw, step by step; nothing if there was none.
    pub fn steps(&self) -> impl Iterator<Item = Step<'a>> {
        let b = self.0;
        (0..b.u32(STEPS) as usize).map(move |i| {
            let at = b.row(STEPS, i);
            let flags = b.u32(at + 4);
            Step {
                message: index(b.i32(at)),
                action_valid: flags & 1 != 0,
                terminated: flags & 2 != 0,
                truncated: flags & 4 != 0,
                reward: b.f64(at + 8),
                action: b.str(at + 16),
                action_kind: ActionKind::from_u32(b.u32(at + 24)),
                choice: b.i32(at + 28),
                anchor: b.str(at + 32),
                tool_call_count: b.u32(at + 40),
            }
        })
    }
}

impl<'a> Group<'a> {
    pub fn len(&self) -> usize {
        self.0.u32(MEMBERS) as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn member(&self, i: usize) -> Rollout<'a> {
        let at = self.0.row(MEMBERS, i);
        Rollout(self.0.sub(self.0.u32(at) as usize, self.0.u32(at + 4) as usize))
    }

    pub fn members(&self) -> impl Iterator<Item = Rollout<'a>> {
        let g = *self;
        (0..g.len()).map(move |i| g.member(i))
    }
}
