import { expect, test } from "vitest";
import { functionCall, message, respond } from "../server/responses.mjs";
import { follow, ofKind, partsOf, send, toolsOf } from "../support.mjs";
import { codex, mcp, mcpServer, toolOutputs } from "./support.mjs";

const MODES = ["ask", "full_access"] as const;

const asked = async (permissionMode: (typeof MODES)[number]) => {
  const at = await codex({ resolved: { mcpServers: [mcpServer("chosen")] } }, { permissionMode, toolIds: ["chosen"] });
  at.model.queue(respond([mcp("chosen", "ask")]), respond([message("Thank you.")]));
  const turn = await send(at);
  return { ...at, turn };
};

test.each(MODES)("a form of an MCP server is a question in %s, and its answer reaches the server", async (permissionMode) => {
  const { turn, session } = await asked(permissionMode);

  const question = await turn.first("elicitation_request");
  expect(question.request).toMatchObject({ message: "Which colour?", requestedSchema: { properties: { colour: { type: "string" } }, required: ["colour"] } });
  expect((await session.inspect()).pendingRequests).toMatchObject([{ requestId: question.requestId, kind: "elicitation" }]);
  expect((await follow(session.reconnect(turn.id)).first("elicitation_request")).requestId).toBe(question.requestId);
  await session.respondToElicitation(question.requestId, { action: "accept", content: { colour: "green", loud: true } });

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(ofKind(turn.updates, "elicitation_response")).toMatchObject([{ requestId: question.requestId, response: { action: "accept", content: { colour: "green" } } }]);
  const [tool] = toolsOf(await partsOf(session, turn.id));
  expect(tool?.status).toBe("completed");
  expect(JSON.stringify(tool?.content)).toContain('answered: accept {\\"colour\\":\\"green\\",\\"loud\\":true}');
});

test("a question may be declined", async () => {
  const { turn, session } = await asked("ask");

  const { requestId } = await turn.first("elicitation_request");
  await session.respondToElicitation(requestId, { action: "decline" });

  expect(await turn.ended).toMatchObject({ status: "completed" });
  const [tool] = toolsOf(await partsOf(session, turn.id));
  expect(JSON.stringify(tool?.content)).toContain("answered: decline");
});

const QUESTION = {
  id: "colour",
  header: "Colour",
  question: "Which colour shall it be?",
  options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "cold" }],
};

test.each(MODES)("a question of the model in %s, and its answer reaches the model", async (permissionMode) => {
  const { model, session, ...at } = await codex({}, { permissionMode });
  model.queue(respond([functionCall("request_user_input", { questions: [QUESTION] })]), respond([message("Thank you.")]));

  const turn = await send({ ...at, session });
  const question = await turn.first("elicitation_request");
  expect(JSON.stringify(question.request)).toContain("Which colour shall it be?");
  const form = question.request as { requestedSchema?: { properties?: Record<string, unknown> } };
  expect(Object.keys(form.requestedSchema?.properties ?? {})).toContain("colour");
  await session.respondToElicitation(question.requestId, { action: "accept", content: { colour: "Blue" } });

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(toolOutputs(model.requests[1]!)).toContain("Blue");
});
