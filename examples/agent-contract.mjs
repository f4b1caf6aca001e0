/** The model that an agent's demo turn runs with where none is named. */
const MODELS = {
  codex: { providerId: "openai", modelId: "gpt-5.5" },
  claude_code: { providerId: "anthropic", modelId: "sonnet" },
};
/** The variable that holds a user's own key. */
const KEYS = { codex: "OPENAI_API_KEY", claude_code: "ANTHROPIC_API_KEY" };

export const demoAgents = Object.keys(MODELS);

/** A contract for the installed program of an agent: with the key of the environment where there is one, else with its login. */
export function agentContract(adapterId, { cwd, modelId = MODELS[adapterId].modelId }) {
  const hasKey = Boolean(process.env[KEYS[adapterId]]);
  return {
    agent: { adapterId, installationId: "default", revisionId: "1" },
    model: { providerId: MODELS[adapterId].providerId, modelId, settings: [] },
    auth: { mode: hasKey ? "byok" : "subscription", bindingId: "demo" },
    tools: { revisionId: null, toolIds: [] },
    cwd: { path: cwd, workspaceId: null, materializationRevision: null },
    permissionMode: "ask",
    computerId: "this-computer",
  };
}
