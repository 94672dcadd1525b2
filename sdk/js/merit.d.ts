/** A request of the assistant to run a tool. */
export interface ToolCall {
  id: string;
  type: string;
  /** `arguments` is JSON text as the model wrote it, valid or not. */
  function: { name: string; arguments: string };
}

/** One turn of a conversation in OpenAI's form. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool" | (string & {});
  content: string | null | Array<{ type: string; text?: string; [key: string]: unknown }>;
  name?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  /** What was written in another form: a role in another spelling, tool calls in another shape. */
  as_given?: Record<string, unknown>;
  /** Every other field that the row has, such as reasoning_content. */
  [field: string]: unknown;
}

/** One decision of the policy as the environment saw it. */
export interface Step {
  index: number;
  message_count: number;
  anchor?: string;
  action: { kind: "choice" | "text" | "tool"; choice: number; text?: string; tool_calls?: ToolCall[] };
  env_reward: number;
  action_valid: boolean;
  terminated?: boolean;
  truncated?: boolean;
}

/** A whole episode. */
export interface Rollout {
  id: string;
  group?: string;
  task?: string;
  messages: Message[];
  /** How many messages are the prompt's, if the row says so. */
  prompt_messages?: number;
  /** Which of the prompt and the completion was a text and no list of messages. */
  given_as_text?: Array<"prompt" | "completion">;
  /** Columns of the row under names that Merit uses itself. */
  own_columns?: Record<string, unknown>;
  ground_truth?: unknown;
  metadata?: Record<string, unknown>;
  steps?: Step[];
  stop_reason?: "terminated" | "truncated" | "policy_ended" | "pattern" | "error";
}

export type Metric = number | { score: number; is_score_valid?: boolean; reason?: string };

/** The reward of one step; `step_index` counts the assistant messages after the prompt from 0. */
export interface StepOutput {
  step_index: number;
  base_reward: number;
  reason?: string;
  metrics?: Record<string, Metric>;
}

export interface EvaluateResult {
  score: number;
  /** false: there is no valid score. That is never taken for the number 0. */
  is_score_valid?: boolean;
  reason?: string;
  metrics?: Record<string, Metric>;
  step_outputs?: StepOutput[];
  error?: string;
}

export type Result = number | boolean | EvaluateResult;

/** What the sandbox may refuse a reward. */
export type Refusal = "network" | "process" | "package" | "native" | "file" | "environment" | "thread";

/**
 * What a reward module exports: `reward` (or its default) or `rewardGroup`.
 * `warmUp` runs once, before the snapshot that every evaluation begins from, in
 * place of the built-in conversation; `warm_up: "off"` does without either.
 */
export interface RewardModule {
  default?: (rollout: Rollout) => Result | Promise<Result>;
  reward?: (rollout: Rollout) => Result | Promise<Result>;
  rewardGroup?: (rollouts: Rollout[]) => Array<Result | Promise<Result>> | Promise<Result[]>;
  warmUp?: () => void;
  merit?: {
    name?: string;
    version?: string;
    description?: string;
    step_index?: "assistant" | "message";
    warm_up?: "conversation" | "own" | "off";
    /** The score stands without these. */
    without?: string | Refusal[];
  };
}

export function text(message: Message): string;
export function answer(rollout: Rollout): string;
export function assistants(rollout: Rollout): Array<[index: number, message: Message, place: number]>;
export function invalid(reason: string): EvaluateResult;
export function byteLength(string: string): number;
