import { Bytes, bytes } from "./bytes";

/** The role of a message; Other is spelt out in roleText. */
export enum Role { Other, System, User, Assistant, Tool }
/** Why the episode ended. */
export enum StopReason { None, Terminated, Truncated, PolicyEnded, Pattern, Error }
/** The form of an action. */
export enum ActionKind { None, Choice, Text, Tool }
/** The JSON type of a value. Json is a list, an object, or a number too large for an f64. */
export enum Kind { Absent, String, Number, Bool, Null, Json }

// Where the tables stand in the header: count, offset, stride.
const MESSAGES = 24;
const FIELDS = 168;
const TOOL_CALLS = 36;
const METADATA = 48;
const STEPS = 60;

/** A place in the buffer that starts at base. */
class View {
  constructor(protected base: usize, protected at: usize) {}

  protected str(offset: usize): Bytes {
    return new Bytes(this.base + load<u32>(this.at + offset), load<i32>(this.at + offset, 4));
  }

  /** The address of row i of the table described at header offset t. */
  protected row(t: usize, i: i32): usize {
    return this.base + load<u32>(this.base + t, 4) + i * load<u32>(this.base + t, 8);
  }
}

/** Any JSON value; no parser is needed for the simple ones. */
export class Value extends View {
  get kind(): Kind { return load<i32>(this.at); }
  get boolean(): bool { return load<u32>(this.at, 4) != 0; }
  /** As it came. */
  get json(): Bytes { return this.str(8); }
  /** A string's text; for other kinds the same as json. */
  get text(): Bytes { return this.str(16); }
  /** Of a number. */
  get number(): f64 { return load<f64>(this.at, 24); }
}

/** A request of the assistant to run a tool. */
export class ToolCall extends View {
  get id(): Bytes { return this.str(0); }
  get name(): Bytes { return this.str(8); }
  /** JSON text as the model wrote it, valid or not. */
  get arguments(): Bytes { return this.str(16); }
  get type(): Bytes { return this.str(24); }
}

/** One turn of the conversation. */
export class Message extends View {
  get role(): Role { return load<i32>(this.at); }
  /** The step index that Output.step takes, or −1. */
  get assistantIndex(): i32 { return load<i32>(this.at, 4); }
  get roleText(): Bytes { return this.str(8); }
  /** Of a list of parts: the text parts, joined. */
  get content(): Bytes { return this.str(16); }
  get name(): Bytes { return this.str(24); }
  get toolCallId(): Bytes { return this.str(32); }
  get toolCallCount(): i32 { return load<i32>(this.at, 44); }
  /** Tool call i, 0 ≤ i < toolCallCount. */
  toolCall(i: i32): ToolCall { return new ToolCall(this.base, this.row(TOOL_CALLS, load<i32>(this.at, 40) + i)); }
  /** The content was null. */
  get isNull(): bool { return (load<u32>(this.at, 48) & 1) != 0; }
  /** Index of the step whose action this is, or −1. */
  get step(): i32 { return load<i32>(this.at, 52); }
  /** JSON of the list of parts, or empty. */
  get parts(): Bytes { return this.str(56); }
  /** How many fields the message has beside these, such as reasoning_content. */
  get fieldCount(): i32 { return load<u32>(this.base, MESSAGES + 8) < 72 ? 0 : load<i32>(this.at, 68); }
  /**
   * Field i, 0 ≤ i < fieldCount. The field as_given is an object of what was
   * written in another form: a role in another spelling, tool calls in another shape.
   */
  fieldAt(i: i32): Field { return new Field(this.base, this.row(FIELDS, load<i32>(this.at, 64) + i)); }
  /** The field under key, or null. */
  field(key: Bytes): Value | null {
    for (let i = 0; i < this.fieldCount; i++) {
      const field = this.fieldAt(i);
      if (field.key.equals(key)) return field.value;
    }
    return null;
  }
}

/** One entry of the metadata, or a field of a message. */
export class Field extends View {
  get key(): Bytes { return this.str(0); }
  get value(): Value { return new Value(this.base, this.at + 8); }
}

/** One decision as the environment saw it. */
export class Step extends View {
  /** Index of the message with the action, or −1. */
  get message(): i32 { return load<i32>(this.at); }
  get actionValid(): bool { return (load<u32>(this.at, 4) & 1) != 0; }
  get terminated(): bool { return (load<u32>(this.at, 4) & 2) != 0; }
  get truncated(): bool { return (load<u32>(this.at, 4) & 4) != 0; }
  /** The environment's own reward. */
  get reward(): f64 { return load<f64>(this.at, 8); }
  get action(): Bytes { return this.str(16); }
  get actionKind(): ActionKind { return load<i32>(this.at, 24); }
  /** Index of the action, for choices. */
  get choice(): i32 { return load<i32>(this.at, 28); }
  /** Raw state before the action. */
  get anchor(): Bytes { return this.str(32); }
  get toolCallCount(): i32 { return load<i32>(this.at, 40); }
}

/** One trajectory to score: a conversation, what its task says about it, and what the environment saw. */
export class Rollout extends View {
  get id(): Bytes { return this.str(104); }
  get group(): Bytes { return this.str(112); }
  get task(): Bytes { return this.str(120); }
  get groundTruth(): Value { return new Value(this.base, this.at + 128); }
  get stopReason(): StopReason { return load<i32>(this.at, 20); }
  /** The number of assistant messages, those of the prompt included. */
  get assistantCount(): i32 { return load<i32>(this.at, 92); }
  /** Index of the last assistant message, or −1. */
  get lastAssistant(): i32 { return load<i32>(this.at, 96); }

  /** How many messages are the prompt's, or −1 if nobody said. */
  get promptMessages(): i32 { return load<u32>(this.at, 8) < 184 ? -1 : load<i32>(this.at, 160); }
  /** The data had a text for the prompt, and no list of messages. */
  get promptText(): bool { return load<u32>(this.at, 8) >= 184 && (load<u32>(this.at, 164) & 1) != 0; }
  /** The data had a text for the completion, and no list of messages. */
  get completionText(): bool { return load<u32>(this.at, 8) >= 184 && (load<u32>(this.at, 164) & 2) != 0; }

  get messageCount(): i32 { return load<i32>(this.at, MESSAGES); }
  message(i: i32): Message { return new Message(this.base, this.row(MESSAGES, i)); }

  /** The metadata stands with keys ascending. */
  get metadataCount(): i32 { return load<i32>(this.at, METADATA); }
  metadata(i: i32): Field { return new Field(this.base, this.row(METADATA, i)); }

  /** What the environment saw, step by step; nothing if there was none. */
  get stepCount(): i32 { return load<i32>(this.at, STEPS); }
  step(i: i32): Step { return new Step(this.base, this.row(STEPS, i)); }

  /** The content of the last assistant message, or nothing. */
  get answer(): Bytes {
    return this.lastAssistant < 0 ? EMPTY : this.message(this.lastAssistant).content;
  }

  /** The metadata under key, or null. */
  meta(key: Bytes): Value | null {
    for (let i = 0; i < this.metadataCount; i++) {
      const field = this.metadata(i);
      if (field.key.equals(key)) return field.value;
    }
    return null;
  }
}

const EMPTY = bytes("");
