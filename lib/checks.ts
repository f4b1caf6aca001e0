import { ChatOptionsError, ExecutionError, PromptError } from "./errors.js";
import type { ExecutionHandle } from "./execution.js";

/** Makes the typed error for a field: each kind of argument has its own class. */
export type Refusal = (path: string, problem: string) => Error;

export const invalidOption: Refusal = (path, problem) => new ChatOptionsError(path, `${path} ${problem}`);

export const invalidContract: Refusal = (path, problem) => new ExecutionError("INVALID_EXECUTION_CONTRACT", `${path} ${problem}`, path);

export const invalidPrompt: Refusal = (path, problem) => {
  const index = /^[^[]*\bparts\[(\d+)\]/.exec(path)?.[1];
  return new PromptError("INVALID_PROMPT", `${path} ${problem}`, index === undefined ? null : Number(index));
};

/** What a value is, in the words of an error message. */
function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === "") return "an empty string";
  if (typeof value === "number") return String(value);
  return typeof value === "object" ? "an object" : typeof value;
}

/** The words after the field's name for a value that is not what was asked for. */
export const expected = (wanted: string, value: unknown): string =>
  value === undefined ? `is missing; it must be ${wanted}` : `must be ${wanted}, not ${describe(value)}`;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function checkRecord(value: unknown, path: string, refuse: Refusal = invalidOption): Record<string, unknown> {
  if (!isRecord(value)) throw refuse(path, expected("an object", value));
  return value;
}

export function checkString(value: unknown, path: string, refuse: Refusal = invalidOption): string {
  if (typeof value !== "string") throw refuse(path, expected("a string", value));
  const fault = faultOf(value);
  if (fault !== null) throw refuse(path, fault);
  return value;
}

export function checkText(value: unknown, path: string, refuse: Refusal = invalidOption): string {
  if (typeof value !== "string" || value === "") throw refuse(path, expected("a non-empty string", value));
  return checkString(value, path, refuse);
}

export function checkBoolean(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") throw invalidOption(path, expected("a boolean", value));
  return value;
}

export function checkFunction<Signature>(value: unknown, path: string): Signature {
  if (typeof value !== "function") throw invalidOption(path, expected("a function", value));
  return value as Signature;
}

/** A whole number of at least `least` that JavaScript holds exactly. */
export function checkCount(value: unknown, path: string, least: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw invalidOption(path, expected(`a whole number of at least ${String(least)}`, value));
  }
  return value as number;
}

/** May be empty, and so may be its members. */
export function checkStrings(value: unknown, path: string): string[] {
  if (!Array.isArray(value)) throw invalidOption(path, expected("an array of strings", value));
  return value.map((entry, index) => checkString(entry, `${path}[${String(index)}]`));
}

/** A member that may be left out: undefined stays undefined, and JSON leaves it out again. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value);
}

/** Every own member with a value must be one of `known`: a misspelt option is an error, not a default. */
export function checkMembers(value: Record<string, unknown>, prefix: string, known: readonly string[], later: readonly string[] = []): void {
  for (const name of Object.keys(value)) {
    if (value[name] === undefined || known.includes(name)) continue;
    const path = prefix === "" ? name : `${prefix}.${name}`;
    throw invalidOption(path, later.includes(name) ? "is not available in this version" : `is not an option; known are ${known.join(", ")}`);
  }
}

/** The two members that count; further members of a caller's object are ignored. */
export function checkHandle(value: unknown, path = "execution"): ExecutionHandle {
  const handle = checkRecord(value, path, invalidContract);
  return { id: checkText(handle.id, `${path}.id`, invalidContract), revision: checkText(handle.revision, `${path}.revision`, invalidContract) };
}

/**
 * JSON text of a value for native code. What JSON would drop or change in silence (functions, symbols, numbers that are
 * not finite) or cannot hold (BigInt, a cycle, half a surrogate pair) is refused at its path.
 */
export function toJson(value: unknown, path: string, refuse: Refusal): string {
  try {
    const text = JSON.stringify(value, strictly) as string | undefined;
    if (text !== undefined) return text;
  } catch (error) {
    const fault = findFault(value, path, new Set());
    if (fault !== null) throw refuse(fault.path, fault.problem);
    throw refuse(path, `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw refuse(path, expected("a JSON value", value));
}

const UNWRITABLE = "unwritable";
const DEEPEST = 1000;

function strictly(_key: string, value: unknown): unknown {
  if (faultOf(value) !== null) throw new TypeError(UNWRITABLE);
  return value;
}

function faultOf(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? null : "holds half of a surrogate pair";
    case "number":
      return Number.isFinite(value) ? null : `must be a finite number, not ${String(value)}`;
    case "bigint":
    case "function":
    case "symbol":
      return `cannot be a ${typeof value}`;
    default:
      return null;
  }
}

// Runs only after a failure: `JSON.stringify` tells a replacer the key, not the path.
function findFault(value: unknown, path: string, above: Set<object>): { path: string; problem: string } | null {
  if (above.size > DEEPEST) return { path, problem: "is nested too deep" };
  const problem = faultOf(value);
  if (problem !== null) return { path, problem };
  if (typeof value !== "object" || value === null) return null;
  if (above.has(value)) return { path, problem: "refers to an object that holds it" };
  above.add(value);
  for (const [key, member] of Object.entries(value)) {
    const fault = findFault(member, memberPath(path, key, Array.isArray(value)), above);
    if (fault !== null) return fault;
  }
  above.delete(value);
  return null;
}

function memberPath(path: string, key: string, inArray: boolean): string {
  if (inArray) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}
