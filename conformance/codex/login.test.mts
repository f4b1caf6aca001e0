import { createChatHost } from "@amalgm/chat-native/host";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { message, respond } from "../server/responses.mjs";
import { converse, play, scene, textOf, type Scene } from "../support.mjs";
import { contract, host, installations } from "./support.mjs";

const subscription = { auth: { mode: "subscription" as const } };
const LOGIN_KEY = "sk-conformance-of-the-login-98765";

/** A folder with a login in it, as `codex login --with-api-key` leaves it, and other things that are nobody's business. */
function loginHome(at: Scene): string {
  const home = join(at.folder, "login-home");
  mkdirSync(home);
  writeFileSync(join(home, "auth.json"), JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: LOGIN_KEY }));
  writeFileSync(join(home, "config.toml"), 'model = "TRAP-model"\n');
  return home;
}

test("a subscription uses the login of its home, and nothing else that is there", async () => {
  const at = await scene();
  const home = loginHome(at);
  const before = readFileSync(join(home, "auth.json"), "utf8");
  const credential = { loginHome: home, baseUrl: at.model.baseUrl };
  at.model.queue(respond([message("With the login.")]));

  const { turn, parts } = await play(await converse(await host(at, { resolve: () => ({ credential }) }), contract(at, subscription)));

  expect(turn.status).toBe("completed");
  expect(textOf(parts)).toBe("With the login.");
  const [request] = at.model.requests;
  expect(request!.headers.authorization).toBe(`Bearer ${LOGIN_KEY}`);
  expect(request!.text).not.toContain("TRAP-model");
  expect(readFileSync(join(home, "auth.json"), "utf8")).toBe(before);
  expect(existsSync(join(home, "sessions"))).toBe(false);
});

test("a key in the host's environment does not reach a subscription's turn", async () => {
  const at = await scene();
  const credential = { loginHome: loginHome(at), baseUrl: at.model.baseUrl };
  process.env.OPENAI_API_KEY = "sk-conformance-of-the-environment";
  process.env.CODEX_API_KEY = "sk-conformance-of-the-environment";
  try {
    at.model.queue(respond([message("Done.")]));
    await play(await converse(await host(at, { resolve: () => ({ credential }) }), contract(at, subscription)));
  } finally {
    delete process.env.OPENAI_API_KEY;
    delete process.env.CODEX_API_KEY;
  }
  expect(at.model.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${LOGIN_KEY}`]);
});

test("a subscription without a login: the turn says what to do, and no model is asked", async () => {
  const at = await scene();
  const credential = { loginHome: join(at.folder, "nobody"), baseUrl: at.model.baseUrl };

  const { turn } = await play(await converse(await host(at, { resolve: () => ({ credential }) }), contract(at, subscription)));

  expect(turn).toMatchObject({ status: "failed", error: { class: "auth", reason: "login_required" } });
  expect(turn.error?.message).toContain("codex login");
  expect(at.model.requests).toEqual([]);
});

test("without a resolver, what needs one is refused", async () => {
  const at = await scene();
  const own = await createChatHost({ ownerUserId: "owner", databasePath: at.databasePath, native: { stateDir: at.stateDir, installations } });
  onTestFinished(() => own.close());

  await expect(own.chat.prepareExecution("platform", contract(at, { auth: { mode: "platform" } }))).rejects.toMatchObject({ path: "auth.mode" });
  await expect(own.chat.prepareExecution("tools", contract(at, { toolIds: ["search"] }))).rejects.toMatchObject({ path: "tools.toolIds" });
  expect(at.model.requests).toEqual([]);
});
