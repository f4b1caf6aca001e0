import { invalidOption } from "./checks.js";
import type { NativeRuntimeOptions } from "./host.js";
import type { OnRequest } from "./native.js";
import { checkOutcome, checkResponse, elicitationAnswer, permissionAnswer } from "./request-answers.js";

type Callback<Name extends "onPermissionRequest" | "onElicitationRequest"> = NonNullable<NativeRuntimeOptions[Name]>;
type Callbacks = Pick<NativeRuntimeOptions, "onPermissionRequest" | "onElicitationRequest">;

/**
 * The host's callbacks as the one function that the core asks; null where the host gave none. It never rejects: it is called
 * from the core, where nobody could catch it. A callback that fails cancels its request, so that the agent does not wait.
 */
export function requestListener({ onPermissionRequest, onElicitationRequest }: Callbacks): OnRequest | null {
  if (onPermissionRequest === undefined && onElicitationRequest === undefined) return null;
  return async (kind, requestJson) => {
    if (kind === "permission") return askPermission(onPermissionRequest, requestJson);
    return askElicitation(onElicitationRequest, requestJson);
  };
}

async function askPermission(callback: Callback<"onPermissionRequest"> | undefined, requestJson: string): Promise<string | null> {
  if (callback === undefined) return null;
  try {
    const request = JSON.parse(requestJson) as Parameters<typeof callback>[0];
    const offered = request.options.map(({ optionId }) => optionId);
    const answer: unknown = await callback(request);
    if (answer === undefined) return null;
    const outcome = checkOutcome(answer);
    if (outcome.outcome === "selected" && !offered.includes(outcome.optionId)) {
      throw invalidOption("outcome.optionId", `must be one of ${offered.join(", ")}, not ${outcome.optionId}`);
    }
    return permissionAnswer(outcome);
  } catch (error) {
    return permissionAnswer({ outcome: "cancelled" }, reportFailure("onPermissionRequest", error));
  }
}

async function askElicitation(callback: Callback<"onElicitationRequest"> | undefined, requestJson: string): Promise<string | null> {
  if (callback === undefined) return null;
  try {
    const answer: unknown = await callback(JSON.parse(requestJson) as Parameters<typeof callback>[0]);
    return answer === undefined ? null : elicitationAnswer(checkResponse(answer));
  } catch (error) {
    reportFailure("onElicitationRequest", error);
    return elicitationAnswer({ action: "cancel" });
  }
}

/** Warns of the failure; gives the reason for the agent. */
function reportFailure(name: keyof Callbacks, error: unknown): string {
  const { message, stack } = readError(error);
  const reason = `the callback ${name} failed: ${message}`;
  process.emitWarning(`${reason}; its request is cancelled`, { code: "CHAT_NATIVE_CALLBACK", detail: stack });
  return reason;
}

/** Whatever the host threw: reading it may throw as well. */
function readError(error: unknown): { message: string; stack?: string | undefined } {
  try {
    if (!(error instanceof Error)) return { message: String(error).toWellFormed() };
    return { message: error.message.toWellFormed(), stack: error.stack };
  } catch {
    return { message: "what it threw cannot be shown" };
  }
}
