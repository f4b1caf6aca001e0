import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { failure, root, runNode } from "./support.mjs";

interface TestBinding {
  panicInFunction: () => void;
  panicInPromise: () => Promise<void>;
  PanickingConstructor: new () => object;
  PanickingMethods: new () => { method: () => void; readonly property: number };
}
const { binding } = createRequire(import.meta.url)("../dist/native.js") as { binding: () => TestBinding };

// `npm test` builds the addon with exports that panic on purpose; a release has none.
const isTestBuild = "panicInFunction" in binding();

describe.runIf(isTestBuild)("a panic in native code becomes a JavaScript error", () => {
  const addon = binding();

  test("of a function", () => {
    expect(() => {
      addon.panicInFunction();
    }).toThrow("injected into a function");
  });

  test("of a constructor", () => {
    expect(() => new addon.PanickingConstructor()).toThrow("injected into a constructor");
  });

  test("of a method and of a getter", () => {
    const object = new addon.PanickingMethods();
    expect(() => {
      object.method();
    }).toThrow("injected into a method");
    expect(() => object.property).toThrow("injected into a getter");
  });

  test("of a promise, in the one form of native errors", async () => {
    const error = await failure(addon.panicInPromise());
    expect(JSON.parse(error.message)).toMatchObject({ code: "RUNTIME_ERROR", message: "injected into a promise" });
  });

  test("without a word on stderr, and the process goes on", async () => {
    const program = `
      const { binding } = require("./dist/native.js");
      try { binding().panicInFunction(); } catch {}
      binding().panicInPromise().catch(() => console.log("still here"));
    `;
    expect(await runNode(["-e", program])).toMatchObject({ code: 0, stdout: "still here\n", stderr: "" });
  });
});

test.runIf(existsSync(join(root, "target", "test-binding.d.ts")))("index.d.ts is what the build generates: `npm run build` renews it", () => {
  const generated = readFileSync(join(root, "target", "test-binding.d.ts"), "utf8");
  const ofPanics = /^export declare (?:class Panicking\w+ \{[^]*?^\}|function panicIn\w+.*)\n\n?/gm;
  expect(readFileSync(join(root, "index.d.ts"), "utf8")).toBe(generated.replaceAll(ofPanics, ""));
});
