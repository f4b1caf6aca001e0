// The function that the core asks, alone: what a host's callback may do wrong.
import type { NativeRuntimeOptions } from "@amalgm/chat-native/host";
import { createRequire } from "node:module";
import { expect, test, vi } from "vitest";

type Listener = (kind: string, requestJson: string) => Promise<string | null>;
const { requestListener } = createRequire(import.meta.url)("../dist/request-callbacks.js") as {
  requestListener: (callbacks: Pick<NativeRuntimeOptions, "onPermissionRequest" | "onElicitationRequest">) => Listener | null;
};

const place = { conversationId: "c", turnId: "t", requestId: "r" };
const permission = JSON.stringify({ ...place, toolCall: { toolCallId: "x" }, options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }] });
const question = JSON.stringify({ ...place, request: { mode: "form", message: "Which colour?", requestedSchema: { type: "object" } } });

/** What the core gets, and what Node is told to warn of. */
async function ask(kind: "permission" | "elicitation", callback: unknown): Promise<{ answer: unknown; warnings: unknown[][] }> {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  try {
    const name = kind === "permission" ? "onPermissionRequest" : "onElicitationRequest";
    const answer = await requestListener({ [name]: callback as never })!(kind, kind === "permission" ? permission : question);
    return { answer: answer === null ? null : (JSON.parse(answer) as unknown), warnings: warn.mock.calls };
  } finally {
    warn.mockRestore();
  }
}

test("without callbacks the core has nobody to ask", () => {
  expect(requestListener({})).toBeNull();
});

test.each<["permission" | "elicitation", object]>([
  ["permission", { onElicitationRequest: () => ({ action: "accept" }) }],
  ["elicitation", { onPermissionRequest: () => ({ outcome: "cancelled" }) }],
])("a %s is not asked of the callback for the other kind", async (kind, callbacks) => {
  expect(await requestListener(callbacks)!(kind, kind === "permission" ? permission : question)).toBeNull();
});

test("what is right crosses as it is, without what only JavaScript may see", async () => {
  const outcome = { outcome: "selected", optionId: "yes" };
  expect(await ask("permission", () => ({ ...outcome, _meta: { mine: 1 } }))).toEqual({ answer: { outcome }, warnings: [] });
  const amalgm = { updatedInput: { command: "ls", limits: [1, null] } };
  expect(await ask("permission", () => ({ ...outcome, _meta: { mine: 1, amalgm } }))).toEqual({ answer: { outcome: { ...outcome, _meta: { amalgm } } }, warnings: [] });
  const response = { action: "accept", content: { colour: "red" } };
  expect(await ask("elicitation", () => Promise.resolve(response))).toEqual({ answer: { response }, warnings: [] });
});

test("what a callback does to its request changes nothing", async () => {
  const { answer } = await ask("permission", (request: { options: Array<{ optionId: string }> }) => {
    request.options = [{ optionId: "other" }];
    return { outcome: "selected", optionId: "yes" };
  });
  expect(answer).toEqual({ outcome: { outcome: "selected", optionId: "yes" } });
});

const raise = (what: unknown): never => {
  throw what as Error;
};

/** An error whose words cannot be read. */
const unreadable = Object.defineProperty(new Error(), "message", { get: () => raise(new Error("no words")) });

test.each<[string, () => unknown, string]>([
  ["throws an error", () => raise(new Error("out of order")), "out of order"],
  ["throws a text", () => raise("out of order"), "out of order"],
  ["throws undefined", () => raise(undefined), "undefined"],
  ["throws a symbol", () => raise(Symbol("odd")), "odd"],
  ["throws what has no text", () => raise(Object.create(null)), "cannot be shown"],
  ["throws an error without words", () => raise(unreadable), "cannot be shown"],
  ["throws half a character", () => raise(new Error("half \ud800")), "half \ufffd"],
  ["rejects", () => Promise.reject(new Error("out of order")), "out of order"],
  ["gives what throws when it is awaited", () => ({ get then() { return raise(new Error("no then")); } }), "no then"],
  ["gives what throws when it is read", () => ({ get outcome() { return raise(new Error("no outcome")); } }), "no outcome"],
  ["gives null", () => null, "outcome must be an object, not null"],
  ["gives true", () => true, "outcome must be an object, not boolean"],
  ["gives the id alone", () => "yes", "outcome must be an object, not string"],
  ["gives another outcome", () => ({ outcome: "allowed" }), "outcome.outcome"],
  ["gives an option that was not offered", () => ({ outcome: "selected", optionId: "no" }), "outcome.optionId must be one of yes, not no"],
  ["gives an input that is none", () => ({ outcome: "selected", optionId: "yes", _meta: { amalgm: { updatedInput: "ls" } } }), "outcome._meta.amalgm.updatedInput must be an object"],
])("one for permissions that %s cancels its request with the reason, and warns once", async (_, callback, words) => {
  const { answer, warnings } = await ask("permission", callback);
  expect(answer).toEqual({ outcome: { outcome: "cancelled" }, reason: expect.stringContaining(words) as string });
  expect(answer).toMatchObject({ reason: expect.stringContaining("onPermissionRequest") as string });
  expect(warnings).toEqual([[expect.stringContaining(words), expect.objectContaining({ code: "CHAT_NATIVE_CALLBACK" })]]);
});

test.each<[string, () => unknown, string]>([
  ["throws", () => raise(new Error("out of order")), "out of order"],
  ["rejects", () => Promise.reject(new Error("out of order")), "out of order"],
  ["gives null", () => null, "response must be an object, not null"],
  ["gives another action", () => ({ action: "skip" }), "response.action"],
  ["gives a form that is none", () => ({ action: "accept", content: "red" }), "response.content"],
  ["gives a number that JSON does not have", () => ({ action: "accept", content: { count: Infinity } }), "response.content.count"],
])("one for questions that %s cancels its request, and warns once", async (_, callback, words) => {
  const { answer, warnings } = await ask("elicitation", callback);
  expect(answer).toEqual({ response: { action: "cancel" } });
  expect(warnings).toEqual([[expect.stringContaining(words), expect.objectContaining({ code: "CHAT_NATIVE_CALLBACK" })]]);
  expect(warnings[0]![0]).toContain("onElicitationRequest");
});

test("each failure is warned of, not only the first", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const listener = requestListener({ onPermissionRequest: () => Promise.reject(new Error("out of order")) })!;
  await Promise.all([listener("permission", permission), listener("permission", permission)]);
  expect(warn).toHaveBeenCalledTimes(2);
  warn.mockRestore();
});
