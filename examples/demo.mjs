// A recorded turn of a real agent through the whole path: agent's messages -> ACP updates -> journal -> async iterator.
// Then a process is killed in the middle of a turn, and the journal shows that nothing it had seen is lost.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Renderer, style, tokens } from "./render.mjs";
import { replayContract } from "./replay-contract.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "..", "demo-data"));
const databasePath = join(folder, "demo.sqlite");
const KILL_AFTER = 8;

mkdirSync(folder, { recursive: true });

heading("1. A recorded Codex turn, at the pace at which it happened");
await playTurn();

heading("2. A second turn, in a process that is killed in its middle");
const victim = await killInTheMiddle();
console.log(`  process ${victim.pid} was killed after it had seen ${victim.sequences.length} updates, the last with sequence ${victim.sequences.at(-1)}`);

heading("3. The database, opened again");
await showRecovered();
console.log(`\n  The journal is in ${style("bold", databasePath)}`);

function heading(text) {
  console.log(`\n${style("bold", text)}\n`);
}

async function playTurn() {
  const host = await createChatHost({ ownerUserId: "demo", databasePath });
  const execution = await host.chat.prepareExecution("demo", replayContract("codex/recommended-launch"));
  const session = await host.chat.startSession({ execution, title: "A recorded turn" });
  const stream = await session.send({ execution, prompt: promptFromText("Play the recording.") });

  const renderer = new Renderer();
  for await (const update of stream) renderer.show(update);
  renderer.end();

  const turn = await stream.completion;
  console.log(`\n  turn ${turn.status}, ${turn.lastSequence} updates journaled`);
  if (turn.usage !== null) console.log(`  in all    ${tokens(turn.usage)}`);
  await host.close();
}

/** The sequences that the child reported, and the turn that it was in. */
async function killInTheMiddle() {
  const child = spawn(process.execPath, [join(here, "demo-victim.mjs"), databasePath], { stdio: ["ignore", "pipe", "inherit"] });
  const sequences = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const report = JSON.parse(line);
    if (report.text) console.log(`  seen      #${report.sequence} ${style("dim", JSON.stringify(report.text))}`);
    sequences.push(report.sequence);
    if (sequences.length === KILL_AFTER) child.kill("SIGKILL");
  }
  return { pid: child.pid, sequences };
}

async function showRecovered() {
  const host = await createChatHost({ ownerUserId: "demo", databasePath });
  for (const turn of host.recoveredTurns) {
    console.log(`  recovered turn ${turn.id}: ${style("yellow", turn.status)} (${turn.error?.reason}), ${turn.lastSequence} updates committed`);
    console.log("  replayed from the journal:");
    const renderer = new Renderer();
    const replayed = [];
    for await (const update of host.chat.replayTurn(turn.conversationId, turn.id)) {
      renderer.show(update);
      replayed.push(update._meta.amalgm.sequence);
    }
    renderer.end();
    const lost = victim.sequences.filter((sequence) => !replayed.includes(sequence));
    console.log(`\n  seen by the killed process: ${victim.sequences.length}, in the journal: ${replayed.length}, lost: ${lost.length}`);
  }
  await host.close();
}
