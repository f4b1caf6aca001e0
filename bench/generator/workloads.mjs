import { command, fileChange, mcpCall, message, thought } from "./steps.mjs";

/** Long answers with some reasoning between them. */
function textHeavy(script, random, left) {
  while (left() > 0) {
    if (random.chance(0.25)) thought(script, random, Math.min(left(), random.integer(10, 60)));
    const deltas = Math.min(left(), random.integer(100, 600));
    if (deltas > 0) message(script, random, deltas);
    script.usage(deltas * 10 + 1);
  }
}

/** Short remarks, then one to three tools: mostly commands that print, some edits, some MCP calls. */
function toolHeavy(script, random, left) {
  for (let step = 0; left() > 0; step++) {
    if (left() < 2 || random.chance(0.5)) message(script, random, Math.min(left(), random.integer(1, 6)));
    for (let tools = random.integer(1, 3); tools > 0 && left() >= 2; tools--) oneTool(script, random, left() - 2);
    if (step % 3 === 0) script.usage(random.integer(40, 900));
  }
}

function oneTool(script, random, room) {
  if (random.chance(0.12)) return fileChange(script, random);
  if (random.chance(0.1)) return mcpCall(script, random);
  command(script, random, Math.min(room, random.integer(4, 28)));
}

export const WORKLOADS = {
  "text-heavy": { seed: 20261130, write: textHeavy, note: "one turn of long answers and some reasoning" },
  "tool-heavy": { seed: 20261201, write: toolHeavy, note: "one turn of commands that print, file changes and MCP calls" },
};
