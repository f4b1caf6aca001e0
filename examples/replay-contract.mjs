/** A contract that plays a bundled recording of a real agent as if the agent were there. */
export function replayContract(recording, pace = "recorded") {
  return {
    agent: { adapterId: "replay", installationId: recording, revisionId: "1" },
    model: { providerId: "recorded", modelId: "recorded", settings: [{ configId: "pace", value: pace }] },
    auth: { mode: "subscription", bindingId: "none" },
    tools: { revisionId: null, toolIds: [] },
    cwd: { path: process.cwd(), workspaceId: null, materializationRevision: null },
    permissionMode: "full_access",
    computerId: "this-computer",
  };
}
