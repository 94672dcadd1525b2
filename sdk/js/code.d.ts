// The module "merit/code": runs code that a model has written against tests.

/**
 * "failed": an assertion, a wrong value. "error": the code threw, does not compile or lacks the name. The last three: its
 * program was stopped.
 */
export type Verdict = "passed" | "failed" | "error" | "out_of_fuel" | "out_of_memory" | "crashed";

export interface Test {
  name: string;
  verdict: Verdict;
  /** Why it is not "passed". */
  message: string;
  /** What the program used. */
  fuel: number;
  /** What the code printed. */
  output: string;
}

export interface Report {
  /** The tests that were run, in their order. */
  tests: Test[];
  passed: number;
  /** How many tests there are, with those that were not run. */
  total: number;
  all_passed: boolean;
  /** The first test whose program was stopped. */
  stopped: Test | null;
  fuel: number;
  toString(): string;
}

/** A function of the solution. What it returns is data; with `new` it makes an object that stays in the program. */
export type Candidate = ((...args: any[]) => any) & (new (...args: any[]) => any);

/**
 * - a text of statements, where `assert` is Node's and functions of the solution stand for themselves; if it defines
 *   check(candidate), that is called;
 * - a function of the candidate and of all names of the solution, which throws or returns false if it fails;
 * - `{ input, output }`: the source is a whole program; space at the ends of lines and of the text does not count;
 * - `{ call, returns }`: arguments of entry_point and what it returns.
 */
export type Case =
  | string
  | ((candidate: Candidate, names: Record<string, any>) => boolean | void)
  | { input: string; output: string }
  | { call: unknown[]; returns: unknown };

export interface Options {
  /** What the source is written in. */
  language?: "javascript" | "python";
  /** The function that is called candidate; may be an expression, `new Solution().add`. */
  entry_point?: string | null;
  /** For loading the source and all calls of one test: 200,000,000. */
  fuel?: number;
  /** The rest is not run after a test that did not pass. */
  stop_at_first?: boolean;
  /** Statements before those of every text. */
  setup?: string;
}

/**
 * Runs source against each of the tests, in a program that has just loaded it. The tests are trusted: a TypeError, a
 * SyntaxError or a CannotCross says that one of them is malformed.
 */
export function run(source: string, tests: Case | Case[], options?: Options): Report;

/** The source in an answer: its last fenced block of the language, else its last that names none, else the text. */
export function extract(text: string, language?: "javascript" | "python"): string;

/** A test gives the solution what cannot be brought into a program: a function, an object of a class. */
export class CannotCross extends TypeError {}

export class AssertionError extends Error {}

/** Node's assert, as far as tests use it. */
export const assert: any;
