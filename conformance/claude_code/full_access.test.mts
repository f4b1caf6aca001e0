// Root may not bypass the permissions of Claude Code; everybody else may. Both have full access.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { respond, text } from "../server/messages.mjs";
import { ofKind, play } from "../support.mjs";
import { agents, claude, claudeScene, hostProcess, shell, type ClaudeScene } from "./support.mjs";

const isRoot = process.getuid?.() === 0;
/** `nobody` of most systems; no more is asked of it than that it is not root. */
const SOMEBODY = 65534;

/** The mode in which the only agent of a scene was started. */
function modeOf(at: ClaudeScene): string | undefined {
  expect(agents(at)).toHaveLength(1);
  const given = agents(at)[0]!.arguments;
  return given.find((argument) => argument.startsWith("--permission-mode="))?.split("=")[1] ?? given[given.indexOf("--permission-mode") + 1];
}

const changes = () => [respond([shell("rm -rf gone; touch made.txt; id -u > who.txt")]), respond([text("Done.")])];

test.runIf(isRoot)("root: everything is asked, and allowed at once", async () => {
  const at = await claude();
  at.model.queue(...changes());

  const { turn, updates } = await play(at);

  expect(turn.status).toBe("completed");
  expect(modeOf(at)).toBe("default");
  expect(ofKind(updates, "permission_response")).toMatchObject([{ approved: true, by: "full_access" }]);
  expect(existsSync(join(at.project, "made.txt"))).toBe(true);
});

test("everybody else: nothing is asked", async () => {
  const at = await claudeScene();
  at.model.queue(...changes());
  const host = await hostProcess(at, {}, isRoot ? { user: SOMEBODY } : {});

  const { ended } = await host.send("Go on.");

  expect(await ended).toMatchObject({ status: "completed" });
  expect(modeOf(at)).toBe("bypassPermissions");
  expect(ofKind(host.updates, "permission_request")).toEqual([]);
  expect(existsSync(join(at.project, "made.txt"))).toBe(true);
  await host.close();
});
