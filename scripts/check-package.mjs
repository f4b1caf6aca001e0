// What others will find in the tarball: publint on its manifest and files, attw on its types, both module systems.
import { buildFacade } from "./build.mjs";
import { packMain } from "./pack-local.mjs";
import { ensureInstalled, main, node, step, tool } from "./steps.mjs";

await main(import.meta.url, async () => {
  await ensureInstalled();
  await buildFacade();
  const tarball = await packMain();
  await step("publint", ...node(tool("publint"), "run", tarball, "--strict"));
  await step("are the types wrong", ...node(tool("@arethetypeswrong/cli", "attw"), tarball, "--profile", "node16"));
});
