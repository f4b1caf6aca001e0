// What the facade makes of the runtime's options before they cross to the core.
import { NativeChatRuntime, type NativeRuntimeOptions } from "@amalgm/chat-native/host";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";

interface TestBinding {
  NativeRuntime: new (optionsJson: string) => object;
}
const { binding } = createRequire(import.meta.url)("../dist/native.js") as { binding: () => TestBinding };

afterEach(() => {
  vi.unstubAllEnvs();
});

function passed(options?: NativeRuntimeOptions): Record<string, unknown> & { hostEnv: Record<string, string> } {
  const addon = binding();
  const { NativeRuntime } = addon;
  let json = "";
  addon.NativeRuntime = class extends NativeRuntime {
    constructor(optionsJson: string) {
      super(optionsJson);
      json = optionsJson;
    }
  };
  try {
    new NativeChatRuntime(options);
  } finally {
    addon.NativeRuntime = NativeRuntime;
  }
  return JSON.parse(json) as ReturnType<typeof passed>;
}

describe("record", () => {
  const home = { dir: join(homedir(), ".amalgm", "chat-core-recordings") };

  test.each<[NativeRuntimeOptions["record"], string | undefined, { dir: string } | undefined]>([
    [undefined, undefined, undefined],
    [undefined, "0", undefined],
    [undefined, "1", home],
    [true, undefined, home],
    [false, "1", undefined],
    [{ dir: "recordings" }, "1", { dir: resolve("recordings") }],
    [{ dir: "/var/recordings" }, undefined, { dir: resolve("/var/recordings") }],
  ])("%o with CHAT_CORE_RECORD=%s", (record, variable, folder) => {
    vi.stubEnv("CHAT_CORE_RECORD", variable);
    expect(passed({ record }).record).toEqual(folder);
  });
});

describe("the host's environment", () => {
  test("crosses as it was when the runtime was made", () => {
    vi.stubEnv("CHAT_NATIVE_TEST_SECRET", "s3cret");
    expect(passed().hostEnv).toEqual({ ...process.env });
    expect(passed().hostEnv).toMatchObject({ CHAT_NATIVE_TEST_SECRET: "s3cret" });
  });

  test("shows in no print of a runtime and in no error about its options", () => {
    vi.stubEnv("CHAT_NATIVE_TEST_SECRET", "s3cret");
    const runtime = new NativeChatRuntime();
    const errors: unknown[] = [];
    for (const options of [{ startLimitMs: 0 }, { record: {} }, { stateDir: "\ud800" }, { installations: { codex: { default: { command: "a", args: [1] } } } }]) {
      try {
        new NativeChatRuntime(options as never);
      } catch (error) {
        errors.push(error);
      }
    }
    expect(errors).toHaveLength(4);
    const depth = Infinity;
    const prints = [runtime, ...errors].map((value) => inspect(value, { showHidden: true, getters: true, depth }) + JSON.stringify(value));
    expect(prints.join("\n")).not.toContain("s3cret");
  });
});

test("callbacks and resolve stay in JavaScript", () => {
  const options: NativeRuntimeOptions = { resolve: () => ({}), onPermissionRequest: () => undefined, onElicitationRequest: () => undefined, idleLimitMs: 5 };
  const names = Object.keys(passed(options));
  expect(names).toContain("idleLimitMs");
  for (const name of ["resolve", "onPermissionRequest", "onElicitationRequest"]) expect(names).not.toContain(name);
});
