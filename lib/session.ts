import { checkCount, checkHandle, checkMembers, checkRecord, checkString, checkText, optional } from "./checks.js";
import type { ConversationRecord, MessageRecord } from "./conversations.js";
import { settle, settleJson } from "./errors.js";
import { Hidden } from "./hidden.js";
import { promptJson } from "./input.js";
import type { NativeChat } from "./native.js";
import { checkOutcome, checkReason, checkResponse, elicitationAnswer, permissionAnswer } from "./request-answers.js";
import type { CreateElicitationResponse, RequestPermissionOutcome } from "./sdk.js";
import type { ReconnectOptions, SendOptions, SessionInspection } from "./sessions.js";
import { ChatTurnStream } from "./stream.js";
import type { UsageStep } from "./usage.js";

const sessions = new Hidden<ChatSession, NativeChat>();

/** One conversation, as `Chat.startSession`, `resumeSession` and `resumeStoredSession` give it. */
export class ChatSession {
  readonly id: string;

  /** @internal */
  constructor(native: NativeChat, id: string) {
    this.id = id;
    sessions.set(this, native);
  }

  /**
   * Begins a turn. Resolves when the prompt is stored; the agent is spoken to after that.
   *
   * @param options `turnId`: an id of the caller's. Sending again with the id of a known turn of this session attaches to
   * that turn and starts nothing.
   * @returns the turn's updates from the first one on
   * @throws {@link ChatSessionError} SESSION_BUSY while a turn runs; SESSION_AGENT_MISMATCH
   * @throws {@link ExecutionError} EXECUTION_NOT_PREPARED or EXECUTION_REVISION_MISMATCH
   * @throws {@link PromptError} INVALID_PROMPT or UNSUPPORTED_PROMPT_PART; nothing is stored or sent
   */
  async send(options: SendOptions): Promise<ChatTurnStream> {
    const given = checkRecord(options, "options");
    checkMembers(given, "", ["execution", "prompt", "turnId"]);
    const execution = JSON.stringify(checkHandle(given.execution));
    const prompt = promptJson(given.prompt);
    const turn = optional(given.turnId, (value) => checkText(value, "turnId"));
    const json = `{"execution":${execution},"prompt":${prompt}${turn === undefined ? "" : `,"turnId":${JSON.stringify(turn)}`}}`;
    const native = sessions.get(this);
    const stream = new ChatTurnStream(native, this.id, await settle(() => native.send(this.id, json)), 0);
    // Asked for now, it is known also where the chat is closed before anyone looks.
    void stream.completion;
    return stream;
  }

  /**
   * Replays a turn past the cursor, then continues live. An unknown turn shows at the first `next()` (TURN_NOT_FOUND).
   *
   * @param options `afterSequence`: `_meta.amalgm.sequence` of the last update that was seen; 0 (default) for all
   */
  reconnect(turnId: string, options: ReconnectOptions = {}): ChatTurnStream {
    checkText(turnId, "turnId");
    const given = checkRecord(options, "options");
    checkMembers(given, "", ["afterSequence"]);
    const afterSequence = optional(given.afterSequence, (value) => checkCount(value, "afterSequence", 0));
    return new ChatTurnStream(sessions.get(this), this.id, turnId, afterSequence ?? 0);
  }

  /**
   * Ends the running turn: it is sealed `cancelled`. Resolves at once where none runs.
   *
   * @throws {@link ChatSessionError} INTERRUPT_UNSUPPORTED where the runtime cannot
   */
  async interrupt(): Promise<void> {
    await settle(() => sessions.get(this).interrupt(this.id));
  }

  /**
   * Answers a `permission_request`. Resolves when the answer is stored; the agent hears it after that.
   *
   * @param outcome one of the offered options, or `cancelled`. With an option that allows, `_meta.amalgm.updatedInput` is the tool's whole
   *   new input, in the place of the model's (Claude Code)
   * @param reason why: stored with the answer, and told to the agent with a refusal where it takes one
   * @throws {@link ChatSessionError} REQUEST_NOT_PENDING where the request is unknown or was answered already
   * @throws {@link ChatOptionsError} INVALID_OPTIONS, also where the option is none of those offered, or the agent takes no other input; the
   *   request still waits
   */
  async respondToPermission(requestId: string, outcome: RequestPermissionOutcome, reason?: string): Promise<void> {
    checkText(requestId, "requestId");
    const answer = permissionAnswer(checkOutcome(outcome), checkReason(reason));
    await settle(() => sessions.get(this).respond(this.id, requestId, answer));
  }

  /**
   * Answers an `elicitation_request`. Resolves when the answer is stored; the agent hears it after that.
   *
   * @param response `content`, the filled form, belongs to `accept`
   * @throws {@link ChatSessionError} REQUEST_NOT_PENDING where the request is unknown or was answered already
   * @throws {@link ChatOptionsError} INVALID_OPTIONS; the request still waits
   */
  async respondToElicitation(requestId: string, response: CreateElicitationResponse): Promise<void> {
    checkText(requestId, "requestId");
    const answer = elicitationAnswer(checkResponse(response));
    await settle(() => sessions.get(this).respond(this.id, requestId, answer));
  }

  /** The conversation, its turns and what waits for an answer. */
  async inspect(): Promise<SessionInspection> {
    return settleJson(() => sessions.get(this).inspect(this.id));
  }

  /** Prompts and answers, oldest first. A turn's answer is there once the turn is sealed. */
  async messages(): Promise<MessageRecord[]> {
    return settleJson(() => sessions.get(this).messages(this.id));
  }

  /** Token usage step by step: of the conversation, or of one turn. */
  async usageSteps(turnId?: string): Promise<UsageStep[]> {
    if (turnId !== undefined) checkText(turnId, "turnId");
    return settleJson(() => sessions.get(this).usageSteps(this.id, turnId ?? null));
  }

  /** Sets the title; the agent's own titles no longer replace it. */
  async updateTitle(title: string): Promise<ConversationRecord> {
    checkString(title, "title");
    return settleJson(() => sessions.get(this).updateTitle(this.id, title));
  }

  /** Waits for a running turn, then releases the agent's process; the conversation stays. */
  async close(): Promise<void> {
    await settle(() => sessions.get(this).closeSession(this.id));
  }
}
