import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, runNode, temporaryFolder } from "./support.mjs";

const demo = (env: NodeJS.ProcessEnv) =>
  runNode([join(root, "examples", "demo-agent.mjs"), "--agent", "codex", "--data", temporaryFolder(), "Say hello."], undefined, root, env);

test("the demo says how to install a program that is missing", async () => {
  const { code, stderr } = await demo({ PATH: temporaryFolder(), HOME: temporaryFolder() });
  expect(code).toBe(1);
  expect(stderr).toContain("agent_missing");
  expect(stderr).toContain("npm install -g @openai/codex");
});

test("the demo says how to log in", async () => {
  const folder = temporaryFolder();
  const program = join(folder, "codex");
  writeFileSync(program, "#!/bin/sh\nexit 1\n");
  chmodSync(program, 0o755);
  const { code, stderr } = await demo({ PATH: folder, HOME: temporaryFolder() });
  expect(code).toBe(1);
  expect(stderr).toContain("login_required");
  expect(stderr).toContain("codex login");
});

test("the demo says how it is used", async () => {
  const { code, stderr } = await runNode([join(root, "examples", "demo-agent.mjs"), "--agent", "nobody", "x"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--agent codex");
});
