// Claude Code in a scene, and what its model says to make it do something.
import type { ExecutionContract, ModelSetting } from "@amalgm/chat-native/execution";
import type { ChatHost } from "@amalgm/chat-native/host";
import { join } from "node:path";
import agent from "./agent.mjs";
import { agentCommand } from "../install.mjs";
import { startHostProcess, type HostProcess } from "../host-client.mjs";
import { processesWith, type RunningProcess } from "../processes.mjs";
import { startMessagesServer, toolUse, type Block, type ContentBlock, type MessagesServer, type ModelRequest } from "../server/messages.mjs";
import { converse, openHost, scene, type Conversation, type HostOptions, type Scene } from "../support.mjs";

export const command = await agentCommand("claude_code");
export const installations = { claude_code: { default: { command } } };

export const MODEL = "claude-sonnet-5-5";
/** One that has tools for its todos. */
export const TODO_MODEL = "claude-sonnet-4-5";
export const OTHER_MODEL = "claude-opus-5-5";
/** One that can be fast: older versions know of none but their own. */
export const FAST_MODEL = agent.version === "2.1.197" ? "opus[1m]" : OTHER_MODEL;

export type ClaudeScene = Scene<MessagesServer>;

export const claudeScene = (): Promise<ClaudeScene> => scene(startMessagesServer);

export interface ContractChanges {
  modelId?: string;
  settings?: ModelSetting[];
  auth?: Partial<ExecutionContract["auth"]>;
  permissionMode?: ExecutionContract["permissionMode"];
  toolIds?: string[];
}

export function contract({ project }: { project: string }, { modelId = MODEL, settings = [], auth, permissionMode = "full_access", toolIds = [] }: ContractChanges = {}): ExecutionContract {
  return {
    agent: { adapterId: "claude_code", installationId: "default", revisionId: "1" },
    model: { providerId: "anthropic", modelId, settings },
    auth: { mode: "byok", bindingId: "binding", ...auth },
    tools: { revisionId: null, toolIds },
    cwd: { path: project, workspaceId: null, materializationRevision: null },
    permissionMode,
    computerId: "computer",
  };
}

export const host = (at: ClaudeScene, options: HostOptions = {}): Promise<ChatHost> => openHost(at, { installations, ...options });

/** A conversation with Claude Code in a new scene. */
export async function claude(options: HostOptions = {}, changes: ContractChanges = {}): Promise<ClaudeScene & Conversation> {
  const at = await claudeScene();
  return { ...at, ...(await converse(await host(at, options), contract(at, changes))) };
}

export const hostProcess = (at: ClaudeScene, changes: ContractChanges = {}, more: { sessionId?: string | undefined; user?: number } = {}): Promise<HostProcess> =>
  startHostProcess(at, { contract: contract(at, changes), native: { installations }, ...more });

/** The agent's own processes in a scene. */
export const agents = ({ folder }: { folder: string }): RunningProcess[] =>
  processesWith(folder).filter((running) => running.arguments.includes("--input-format=stream-json"));

/** The model runs a shell command. */
export const shell = (cmd: string, more: Record<string, unknown> = {}): Block => toolUse("Bash", { command: cmd, description: "A command", ...more });

/** The model calls a tool of an MCP server. */
export const mcp = (server: string, tool: string, args: unknown = {}): Block => toolUse(`mcp__${server}__${tool}`, args);

/** The MCP server of `mcp-server.mjs`, as a contract selects it. */
export function mcpServer(name: string, env: Array<{ name: string; value: string }> = []) {
  return { name, command: process.execPath, args: [join(import.meta.dirname, "..", "mcp-server.mjs"), name], env };
}

/** All blocks of the messages of a role. */
export const blocksOf = ({ body }: ModelRequest, role: string): ContentBlock[] =>
  body.messages.filter((message) => message.role === role).flatMap(({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content));

/** What stands in the messages of a role. */
export const messageText = (request: ModelRequest, role: string): string =>
  blocksOf(request, role).map((block) => block.text ?? "").join("\n");

/** The system prompt. */
export const systemText = ({ body: { system } }: ModelRequest): string =>
  typeof system === "string" ? system : (system ?? []).map((block) => block.text ?? "").join("\n");

/** What a request tells the model about its tool calls. */
export const toolResults = (request: ModelRequest): string =>
  JSON.stringify(blocksOf(request, "user").filter(({ type }) => type === "tool_result"));
