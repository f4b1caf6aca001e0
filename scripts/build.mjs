// Builds the addon beside package.json and the facade in dist/. Options: --debug, --features <names>, --dts <file> (of
// the binding's generated types), --only-ts.
import { cpSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { announce, ensureInstalled, main, node, root, step, tool } from "./steps.mjs";

export async function buildAddon({ debug = false, features = "", dts = "index.d.ts" } = {}) {
  const args = ["build", "--platform", "--no-js", "--dts", dts, "--output-dir", "."];
  if (!debug) args.push("--release");
  if (features !== "") args.push("--features", features);
  await step(`build the addon (${debug ? "debug" : "release"})`, ...node(tool("@napi-rs/cli", "napi"), ...args));
}

export async function buildFacade() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  await step("compile the facade", ...node(tool("typescript", "tsc"), "-p", "."));
  announce("write the entry points of both module systems");
  const { writeEntryPoints } = await import("./entry-points.mjs");
  await writeEntryPoints();
  bundleRecordings();
}

/** The recordings that the replay adapter knows by name, such as `codex/text-stream`. */
function bundleRecordings() {
  cpSync(join(root, "fixtures", "recordings"), join(root, "dist", "recordings"), {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || path.endsWith(".ndjson"),
  });
}

await main(import.meta.url, async () => {
  const { values } = parseArgs({
    options: {
      debug: { type: "boolean" },
      features: { type: "string" },
      dts: { type: "string" },
      "only-ts": { type: "boolean" },
    },
  });
  await ensureInstalled();
  if (!values["only-ts"]) await buildAddon(values);
  await buildFacade();
});
