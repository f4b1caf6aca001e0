import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { runNode } from "./support.mjs";

const require = createRequire(import.meta.url);
const { exports } = require("../package.json") as { exports: Record<string, unknown> };
const paths = Object.keys(exports).filter((path) => path !== "./package.json");
const specifiers = paths.map((path) => `@amalgm/chat-native${path.slice(1)}`);

test("all thirteen entry points are there", () => {
  const names = ["", "sessions", "input", "execution", "acp", "usage", "conversations", "sqlite", "host", "events", "transcript", "normalizers", "api"];
  expect(specifiers.sort()).toEqual(names.map((name) => (name === "" ? "@amalgm/chat-native" : `@amalgm/chat-native/${name}`)).sort());
});

describe.each(specifiers)("%s", (specifier) => {
  test("has the same names for import and for require", async () => {
    const imported = (await import(specifier)) as Record<string, unknown>;
    const required = require(specifier) as Record<string, unknown>;
    expect(Object.keys(imported).sort()).toEqual(Object.keys(required).sort());
  });

  test("loads as CommonJS where `require` of ES modules is off, and as an ES module", async () => {
    const asCommonJs = await runNode(["--no-experimental-require-module", "-e", `require(${JSON.stringify(specifier)})`]);
    expect(asCommonJs).toMatchObject({ code: 0, stderr: "" });
    const asModule = await runNode(["--input-type=module", "-e", `import ${JSON.stringify(specifier)}`]);
    expect(asModule).toMatchObject({ code: 0, stderr: "" });
  });

  test("loads no native code before something is used", async () => {
    const program = `
      require(${JSON.stringify(specifier)});
      if (Object.keys(require.cache).some((file) => file.endsWith(".node"))) process.exit(3);
    `;
    expect(await runNode(["-e", program])).toMatchObject({ code: 0 });
  });
});

test("a class is the same class in both module systems", async () => {
  for (const specifier of specifiers.filter((name) => !name.endsWith("/acp"))) {
    const imported = (await import(specifier)) as Record<string, unknown>;
    const required = require(specifier) as Record<string, unknown>;
    for (const name of Object.keys(imported)) expect(imported[name], `${specifier} ${name}`).toBe(required[name]);
  }
});

test("an error made by one module system is an instance in the other", async () => {
  const { ExecutionError } = await import("@amalgm/chat-native/execution");
  const required = require("@amalgm/chat-native/execution") as typeof import("@amalgm/chat-native/execution");
  expect(() => required.normalizeExecutionContract({})).toThrow(ExecutionError);
});

test("the official ACP SDK is whole in both module systems", async () => {
  const sdk = Object.keys(await import("@agentclientprotocol/sdk"));
  const program = `console.log(JSON.stringify(Object.keys(require("@amalgm/chat-native/acp"))))`;
  const { stdout } = await runNode(["--no-experimental-require-module", "-e", program]);
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining([...sdk, "extensionOf"]));
  expect(Object.keys(await import("@amalgm/chat-native/acp"))).toEqual(expect.arrayContaining([...sdk, "extensionOf"]));
});

test("a missing native part says what to install", async () => {
  const program = `
    Object.defineProperty(process, "arch", { value: "mips" });
    try {
      require("@amalgm/chat-native/input").normalizePrompt({ parts: [] });
    } catch (error) {
      console.log(JSON.stringify({ code: error.code, message: error.message }));
    }
  `;
  const { stdout } = await runNode(["-e", program]);
  const { code, message } = JSON.parse(stdout) as { code: string; message: string };
  expect(code).toBe("NATIVE_BINDING_NOT_FOUND");
  for (const word of [process.platform, "mips", "libc", "npm install @amalgm/chat-native-", "npm run build"]) expect(message).toContain(word);
});
