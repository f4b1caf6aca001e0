import { expect, test } from "vitest";
import { respond, text, toolUse } from "../server/messages.mjs";
import { follow, ofKind, partsOf, send, toolsOf } from "../support.mjs";
import { claude, toolResults } from "./support.mjs";

const MODES = ["ask", "full_access"] as const;

const COLOUR = "Which colour shall it be?";
const SIZES = "Which sizes?";
const question = (asked: string, header: string, multiSelect: boolean, ...labels: string[]) => ({
  question: asked,
  header,
  multiSelect,
  options: labels.map((label) => ({ label, description: `It is ${label}` })),
});

const asked = async (permissionMode: (typeof MODES)[number]) => {
  const at = await claude({}, { permissionMode });
  const questions = [question(COLOUR, "Colour", false, "Red", "Blue"), question(SIZES, "Sizes", true, "Small", "Large", "Huge")];
  at.model.queue(respond([toolUse("AskUserQuestion", { questions })]), respond([text("Thank you.")]));
  return { ...at, turn: await send(at) };
};

test.each(MODES)("questions of the model in %s, one with several answers, and they reach the model", async (permissionMode) => {
  const { turn, session, model } = await asked(permissionMode);

  const { requestId, request } = await turn.first("elicitation_request");
  const form = request as { requestedSchema?: { properties?: Record<string, unknown> } };
  expect(Object.keys(form.requestedSchema?.properties ?? {})).toEqual([COLOUR, SIZES]);
  expect((await session.inspect()).pendingRequests).toMatchObject([{ requestId, kind: "elicitation" }]);
  expect((await follow(session.reconnect(turn.id)).first("elicitation_request")).requestId).toBe(requestId);
  await session.respondToElicitation(requestId, { action: "accept", content: { [COLOUR]: "Blue", [SIZES]: ["Small", "Huge"] } });

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(ofKind(turn.updates, "elicitation_response")).toMatchObject([{ requestId, response: { action: "accept", content: { [COLOUR]: "Blue" } } }]);
  expect(toolsOf(await partsOf(session, turn.id))).toMatchObject([{ status: "completed" }]);
  expect(toolResults(model.requests[1]!)).toContain("Blue");
  expect(toolResults(model.requests[1]!)).toContain("Small, Huge");
});

test("a question may be declined", async () => {
  const { turn, session, model } = await asked("ask");

  const { requestId } = await turn.first("elicitation_request");
  await session.respondToElicitation(requestId, { action: "decline" });

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(toolResults(model.requests[1]!)).toContain("declined");
});
