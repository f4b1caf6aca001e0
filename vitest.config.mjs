import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["__test__/**/*.test.mts"],
    // A process for each file: an addon that takes its process down fails one file, and the rest goes on.
    pool: "forks",
    // The package is loaded by Node itself, as its users load it, not through vitest's transformation.
    server: { deps: { external: [/\/dist\//] } },
    // Real processes on a busy machine: a test that hangs fails, a slow one does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
