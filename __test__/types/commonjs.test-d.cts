// The same types reach a CommonJS program; the official SDK, which is an ES module, among them.
import acp = require("@amalgm/chat-native/acp");
import sessions = require("@amalgm/chat-native/sessions");
import type { SessionUpdate } from "@agentclientprotocol/sdk" with { "resolution-mode": "import" };
import type { ChatUpdate } from "@amalgm/chat-native/acp";

declare const update: ChatUpdate;
const official: SessionUpdate = update;
const viaPackage: acp.SessionUpdate = update;
const version: number = acp.PROTOCOL_VERSION;
class OwnError extends acp.RequestError {}
const error: acp.RequestError = new OwnError(-32000, "a");
const chat: typeof sessions.Chat = sessions.Chat;

export = { chat, error, official, version, viaPackage };
