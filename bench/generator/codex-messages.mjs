const LAUNCH_ENV = { PATH: "/usr/bin:/bin", HOME: "/home/user", TERM: "dumb", CODEX_HOME: "/home/user/.codex", TMPDIR: "/tmp/user" };

export const header = (scenario, note) => ({
  recording: 1, harness: "codex", harness_version: "0.171.0", scenario,
  launch: { argv: ["codex", "app-server"], env: LAUNCH_ENV }, note,
});

export const initialize = () => ({
  method: "initialize", id: 0,
  params: { clientInfo: { name: "chat-native", title: "Chat Native", version: "0.1.0" }, capabilities: { experimentalApi: true, requestAttestation: false } },
});

export const initializeAnswer = () => ({
  id: 0,
  result: { userAgent: "chat-native/0.171.0 (Debian 12.0.0; x86_64) dumb (chat-native; 0.1.0)", codexHome: "/home/user/.codex", platformFamily: "unix", platformOs: "linux" },
});

export const threadStart = () => ({ method: "thread/start", id: 1, params: { cwd: "/workspace", approvalPolicy: "never", sandbox: "danger-full-access" } });

export const thread = (threadId, seconds) => ({
  id: threadId,
  environments: [{ environmentId: "local", cwd: "/workspace", runtimeWorkspaceRoots: ["/workspace"] }],
  extra: null, sessionId: threadId, forkedFromId: null, attachedToThreadId: null, parentThreadId: null, preview: "", ephemeral: false,
  section: null, sectionEnteredAt: null, projectId: null, historyMode: "paginated", modelProvider: "mock", model: "gpt-5.5", reasoningEffort: null,
  createdAt: seconds, updatedAt: seconds, recencyAt: seconds, status: { type: "idle" },
  path: `/home/user/.codex/sessions/2026/11/30/rollout-2026-11-30T18-24-00-${threadId}.jsonl`,
  cwd: "/workspace", cliVersion: "0.171.0", originator: "chat-native", source: "vscode", canAcceptDirectInput: true, threadSource: null,
  agentNickname: null, agentRole: null, gitInfo: null, name: null, daybreakEnabled: null, turns: [],
});

export const threadStartAnswer = (threadRecord) => ({
  id: 1,
  result: {
    thread: threadRecord, model: "gpt-5.5", modelProvider: "mock", serviceTier: null, disabledPluginIds: [], cwd: "/workspace",
    runtimeWorkspaceRoots: ["/workspace"], instructionSources: [], approvalPolicy: "never", approvalsReviewer: "user",
    sandbox: { type: "dangerFullAccess" }, activePermissionProfile: null, reasoningEffort: null, multiAgentMode: "explicitRequestOnly",
  },
});

export const turnStart = (threadId, text) => ({ method: "turn/start", id: 2, params: { threadId, input: [{ type: "text", text, text_elements: [] }] } });

export const turn = (turnId, fields) => ({
  id: turnId, rootTurnId: turnId, items: [], itemsView: "notLoaded", status: "inProgress", error: null, startedAt: null, completedAt: null, durationMs: null, ...fields,
});

export const userMessage = (id, text) => ({ type: "userMessage", id, clientId: null, content: [{ type: "text", text, text_elements: [] }] });

export const agentMessage = (id, text) => ({ type: "agentMessage", moderation: null, id, text, phase: null, memoryCitation: null, delivery: null, questions: null });

export const reasoning = (id, summary) => ({ type: "reasoning", id, summary, content: [] });

export const commandExecution = (id, { command, processId, status, aggregatedOutput, exitCode, durationMs }) => ({
  type: "commandExecution", id, pluginId: null, scriptPath: null, command: `/bin/bash -lc '${command}'`, cwd: "/workspace", processId,
  source: "unifiedExecStartup", status, commandActions: [{ type: "unknown", command }], aggregatedOutput, exitCode, durationMs,
});

export const fileChange = (id, changes, status) => ({ type: "fileChange", id, changes, status });

export const mcpToolCall = (id, { tool, status, args, result, durationMs }) => ({
  type: "mcpToolCall", id, server: "docs", environmentId: null, tool, status, arguments: args, appContext: null, mcpAppUi: null, pluginId: null,
  readOnlyHint: true, result, error: null, durationMs,
});

export const rateLimits = () => ({
  rateLimits: {
    limitId: "codex", limitName: null, normalModelSlug: null, primary: null, secondary: null, credits: null, individualLimit: null,
    spendControlReached: null, planType: null, rateLimitReachedType: null,
  },
});
