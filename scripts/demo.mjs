// Installs and builds what is missing, then shows a turn: of a recorded agent (an argument is the folder for the database), or
// with `--agent NAME "prompt"` of one that is installed.
import { join } from "node:path";
import { buildAddon, buildFacade } from "./build.mjs";
import { ensureInstalled, main, node, root, run } from "./steps.mjs";

await main(import.meta.url, async () => {
  const args = process.argv.slice(2);
  await ensureInstalled();
  await buildAddon();
  await buildFacade();
  const isAgent = args.some((argument) => argument === "--agent" || argument.startsWith("--agent="));
  const program = isAgent ? "demo-agent.mjs" : "demo.mjs";
  // An agent's demo asks in the terminal.
  const { code } = await run(...node(join(root, "examples", program), ...args), { stdin: isAgent ? "inherit" : "ignore" });
  return code;
});
