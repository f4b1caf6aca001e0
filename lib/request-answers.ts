import { checkMembers, checkRecord, checkString, checkText, expected, invalidOption, isRecord, optional, toJson } from "./checks.js";
import type { CreateElicitationResponse, ElicitationContentValue, RequestPermissionOutcome } from "./sdk.js";

/** Answers as the core takes them: JSON text of what is known of them. What others put into ACP's `_meta` is left out. */
export const permissionAnswer = (outcome: RequestPermissionOutcome, reason?: string): string => toJson({ outcome, reason }, "", invalidOption);

export const elicitationAnswer = (response: CreateElicitationResponse): string => toJson({ response }, "", invalidOption);

export const checkReason = (value: unknown): string | undefined => optional(value, (given) => checkString(given, "reason"));

export function checkOutcome(value: unknown): RequestPermissionOutcome {
  const given = checkRecord(value, "outcome");
  checkMembers(given, "outcome", ["outcome", "optionId", "_meta"]);
  const { outcome } = given;
  const _meta = checkMeta(given._meta);
  if (outcome === "cancelled") return { outcome, ..._meta };
  if (outcome === "selected") return { outcome, optionId: checkText(given.optionId, "outcome.optionId"), ..._meta };
  throw invalidOption("outcome.outcome", expected('"selected" or "cancelled"', outcome));
}

/** Our own member of an outcome's `_meta`. A misspelt one would let the tool run as the model wanted. */
function checkMeta(meta: unknown): { _meta?: Record<string, unknown> } {
  if (!isRecord(meta) || meta.amalgm === undefined) return {};
  const amalgm = checkRecord(meta.amalgm, "outcome._meta.amalgm");
  checkMembers(amalgm, "outcome._meta.amalgm", ["updatedInput"]);
  const updatedInput = optional(amalgm.updatedInput, (input) => checkRecord(input, "outcome._meta.amalgm.updatedInput"));
  return updatedInput === undefined ? {} : { _meta: { amalgm: { updatedInput } } };
}

export function checkResponse(value: unknown): CreateElicitationResponse {
  const given = checkRecord(value, "response");
  checkMembers(given, "response", ["action", "content", "_meta"]);
  const { action } = given;
  const content = given.content === null ? undefined : optional(given.content, checkContent);
  if (action === "accept") return { action, content };
  // A form that was filled before it was declined tells the agent nothing.
  if (action === "decline" || action === "cancel") return { action };
  throw invalidOption("response.action", expected('"accept", "decline" or "cancel"', action));
}

function checkContent(value: unknown): Record<string, ElicitationContentValue> {
  const content = checkRecord(value, "response.content");
  for (const [name, entry] of Object.entries(content)) {
    const isList = Array.isArray(entry) && entry.every((member) => typeof member === "string");
    if (isList || ["string", "number", "boolean"].includes(typeof entry)) continue;
    throw invalidOption(`response.content.${name}`, expected("a string, a number, a boolean or an array of strings", entry));
  }
  return content as Record<string, ElicitationContentValue>;
}
