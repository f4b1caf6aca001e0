import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: join(import.meta.dirname, ".."),
  test: {
    include: ["conformance/**/*.test.mts"],
    // A process for each file, one after the other: agents are heavy, and tests look at all processes of the machine.
    pool: "forks",
    fileParallelism: false,
    // The package is loaded by Node itself, as its users load it.
    server: { deps: { external: [/\/dist\//] } },
    // Real agents on a busy machine: a test that hangs fails, a slow one does not.
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
