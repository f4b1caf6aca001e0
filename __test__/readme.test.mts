import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, runNode, temporaryFolder } from "./support.mjs";

const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = [...readme.matchAll(/^```(js|ts)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language: language!, code: code! }));
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

test("README.md shows programs", () => {
  expect(blocks.length).toBeGreaterThan(0);
});

test.each(blocks.map((block, index) => [index + 1, block] as const))("block %i runs as it stands", async (_, { language, code }) => {
  const folder = temporaryFolder();
  const scope = join(folder, "node_modules", "@amalgm");
  mkdirSync(scope, { recursive: true });
  symlinkSync(root, join(scope, "chat-native"), "junction");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, `program.${language}`), code);
  if (language === "ts") {
    const typeRoots = join(root, "node_modules", "@types");
    const args = ["--strict", "--module", "nodenext", "--target", "es2022", "--typeRoots", typeRoots, "--types", "node", "program.ts"];
    expect(await runNode([tsc, ...args], undefined, folder)).toMatchObject({ code: 0, stdout: "" });
  }
  // Without a PATH no agent of this computer is found: what a block does must not hang on what is installed here.
  const env = { ...process.env, PATH: "" };
  expect(await runNode(["program.js"], undefined, folder, env)).toMatchObject({ code: 0, stderr: "" });
});
