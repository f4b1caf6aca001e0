// Installs and builds what is missing, then shows a turn. An argument is the folder for the database.
import { join } from "node:path";
import { buildAddon, buildFacade } from "./build.mjs";
import { ensureInstalled, main, node, root, run } from "./steps.mjs";

await main(import.meta.url, async () => {
  await ensureInstalled();
  await buildAddon();
  await buildFacade();
  const { code } = await run(...node(join(root, "examples", "demo.mjs"), ...process.argv.slice(2)));
  return code;
});
