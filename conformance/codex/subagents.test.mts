import { expect, test } from "vitest";
import { eventually, processesWith } from "../processes.mjs";
import { functionCall, message, respond, type ModelRequest } from "../server/responses.mjs";
import type { Answer } from "../server/scripted.mjs";
import { ofKind, play, send, textOf } from "../support.mjs";
import { codex, inputText, shell, toolOutputs } from "./support.mjs";

/** A model that Codex does not know has the tools for sub-agents at once. */
const changes = { modelId: "my-own-model" };
const tools = "multi_agent_v1";

/** The parent begins a sub-agent, waits for it and says that it is done. */
function scripted(child: (request: ModelRequest) => Answer): (request: ModelRequest) => Answer {
  return (request) => {
    if (!inputText(request, "user").includes("Parent, go on.")) return child(request);
    const calls = request.body.input.filter(({ type }) => type === "function_call").length;
    if (calls === 0) return respond([functionCall("spawn_agent", { message: "Child, go on." }, tools)]);
    const id = /agent_id\W+([0-9a-f-]{36})/.exec(toolOutputs(request))?.[1];
    return calls === 1 ? respond([functionCall("wait_agent", { targets: [id] }, tools)]) : respond([message("The parent is done.")]);
  };
}

test("a sub-agent's work belongs to its call, and its end is not the turn's", async () => {
  const { model, ...at } = await codex({}, changes);
  model.otherwise(scripted((request) => respond(toolOutputs(request).includes("was here") ? [message("The child is done.")] : [shell("echo child was here")])));

  const { turn, updates, parts } = await play(at, "Parent, go on.");

  expect(turn).toMatchObject({ status: "completed", stopReason: "end_turn" });
  const own = ofKind(updates, "agent_message_chunk").filter((update) => update._meta.amalgm.parentToolCallId === undefined);
  const child = updates.filter((update) => update._meta.amalgm.parentToolCallId !== undefined);
  const said = (chunks: typeof own): string => chunks.map(({ content }) => (content.type === "text" ? content.text : "")).join("");
  expect(said(own)).toBe("The parent is done.");
  expect(said(ofKind(child, "agent_message_chunk"))).toBe("The child is done.");
  expect(ofKind(child, "tool_call")).toMatchObject([{ kind: "execute" }]);
  expect(textOf(parts)).toContain("The parent is done.");
  const steps = (await at.session.usageSteps(turn.id)).filter(({ billable }) => billable);
  expect(steps).toHaveLength(model.requests.length);
  expect(steps.filter(({ parentToolCallId }) => parentToolCallId !== null)).toHaveLength(2);
});

test("an interrupt reaches the sub-agent too", async () => {
  const { model, ...at } = await codex({}, changes);
  model.otherwise(scripted(() => respond([shell("sleep 607", { yield_time_ms: 30_000 })])));
  const turn = await send(at, "Parent, go on.");
  const sleeping = () => processesWith(at.folder).filter((running) => running.arguments.join(" ") === "sleep 607");
  await eventually("the sub-agent's command runs", () => sleeping().length === 1);

  await at.session.interrupt();

  expect(await turn.ended).toMatchObject({ status: "cancelled" });
  await eventually("the sub-agent's command is gone", () => sleeping().length === 0);
});
