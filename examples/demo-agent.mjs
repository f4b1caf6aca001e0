// One turn of an agent that is installed on this computer: `npm run demo -- --agent codex "prompt"`. It asks in the terminal
// before it acts.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { agentContract, demoAgents } from "./agent-contract.mjs";
import { Renderer, style, tokens } from "./render.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { agent: { type: "string" }, model: { type: "string" }, cwd: { type: "string" }, data: { type: "string" } },
});
const prompt = positionals.join(" ");
if (!demoAgents.includes(values.agent) || prompt === "") {
  console.error(`usage: npm run demo -- --agent ${demoAgents.join("|")} [--model NAME] [--cwd FOLDER] "prompt"`);
  process.exit(2);
}

// npm changes into the package's folder; the agent is to work where the command was given.
const started = process.env.INIT_CWD ?? process.cwd();
const data = resolve(values.data ?? join(dirname(fileURLToPath(import.meta.url)), "..", "demo-data"));
mkdirSync(data, { recursive: true });

const renderer = new Renderer();
const host = await createChatHost({
  ownerUserId: "demo",
  databasePath: join(data, "demo.sqlite"),
  native: { onPermissionRequest: askInTerminal },
});
try {
  const contract = agentContract(values.agent, { cwd: resolve(started, values.cwd ?? "."), modelId: values.model });
  const execution = await host.chat.prepareExecution("demo", contract);
  const session = await host.chat.startSession({ execution, title: prompt.slice(0, 60) });
  const stream = await session.send({ execution, prompt: promptFromText(prompt) });
  for await (const update of stream) renderer.show(update);
  renderer.end();

  const turn = await stream.completion;
  console.log(`\n  turn ${turn.status}, ${turn.lastSequence} updates journaled`);
  if (turn.usage !== null) console.log(`  in all    ${tokens(turn.usage)}`);
} catch (error) {
  renderer.end();
  if (error?.turn === undefined) throw error;
  // What to do about it stands in the message: install the program, log in, set a key.
  console.error(`\n  ${style("red", "the turn failed")} (${error.turn.error.class}: ${error.turn.error.reason})\n  ${error.turn.error.message}`);
  process.exitCode = 1;
} finally {
  await host.close();
}

async function askInTerminal({ toolCall, options }) {
  renderer.end();
  const choices = options.map(({ name }, index) => `${index + 1} ${name}`).join(", ");
  if (!process.stdin.isTTY) {
    console.log(`  asks      ${toolCall.title}: rejected, since nobody can be asked here`);
    return choose(options.find(({ kind }) => kind === "reject_once"));
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`  ${style("yellow", "asks")}      ${toolCall.title}\n            ${choices}: `);
  terminal.close();
  return choose(options[Number(answer) - 1]);
}

function choose(option) {
  return option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId };
}
