import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { root, runNode, temporaryFolder } from "./support.mjs";

// What a stranger does: two tarballs in an empty project, under the name that existing hosts import.
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
let tarballs: { main: string; platform: string };

beforeAll(async () => {
  const { packMain, packPlatform } = (await import(pathToFileURL(join(root, "scripts", "pack-local.mjs")).href)) as {
    packMain: () => Promise<string>;
    packPlatform: () => Promise<string>;
  };
  tarballs = { main: await packMain(), platform: await packPlatform() };
}, 300_000);

function project(type: "module" | "commonjs"): string {
  const folder = temporaryFolder();
  const manifest = {
    name: "a-host",
    private: true,
    type,
    dependencies: { "@amalgm/chat": `file:${tarballs.main}`, [platformName()]: `file:${tarballs.platform}` },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const compilerOptions = { strict: true, module: "node16", target: "es2022", outDir: "out", rootDir: "src", types: [], skipLibCheck: false };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"] }));
  mkdirSync(join(folder, "src"));
  copyFileSync(join(import.meta.dirname, "consumer", "program.ts"), join(folder, "src", "program.ts"));
  return folder;
}

/** As the tarball's own manifest says: its name in the project is no alias. */
function platformName(): string {
  const file = /amalgm-(chat-native-.*)-\d+\.\d+\.\d+\.tgz$/.exec(tarballs.platform);
  return `@amalgm/${file![1]!}`;
}

describe.each([
  ["module", []],
  ["commonjs", ["--no-experimental-require-module"]],
] as const)("a strict TypeScript program against @amalgm/chat, as %s", (type, flags) => {
  test("compiles and runs", { timeout: 300_000 }, async () => {
    const folder = project(type);
    const npm = await runNode([npmCli(), "install", "--no-audit", "--no-fund", "--prefer-offline"], undefined, folder);
    expect(npm.code, npm.stderr).toBe(0);
    const compiled = await runNode([tsc, "-p", "."], undefined, folder);
    expect(compiled.stdout + compiled.stderr).toBe("");
    expect(compiled.code).toBe(0);

    const { code, stdout, stderr } = await runNode([...flags, join("out", "program.js"), join(folder, "chat.sqlite")], undefined, folder);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const expected = "Hello 世界! 👩‍👩‍👧 🎉\n\n- café ñ\n```js\nconst a = \"\\u0000\";\n```\n";
    expect(stdout.startsWith(`${expected}\ncompleted\n`)).toBe(true);
    expect(stdout.trimEnd().endsWith("reconnected at every k, resumed with 2 messages")).toBe(true);
  });
});

/** Where npm runs these tests it says where it is, else it stands beside Node. */
function npmCli(): string {
  const running = process.env.npm_execpath;
  if (running?.endsWith("npm-cli.js")) return running;
  return join(process.execPath, "..", "..", "lib", "node_modules", "npm", "bin", "npm-cli.js");
}
