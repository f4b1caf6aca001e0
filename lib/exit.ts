/** What must be flushed, closed and ended before the process ends. */
export interface Closable {
  /** Synchronous, and must not throw. */
  shutdown(): void;
  /** Once everything is shut down. Synchronous, and must not throw. */
  endAgents(): void;
}

const open = new Set<Closable>();

function shutdownAll(): void {
  for (const closable of open) closable.shutdown();
  for (const closable of open) closable.endAgents();
  open.clear();
}

/**
 * Node runs no addon hook on `process.exit()`, so the one `exit` listener of this process ends what is still open.
 * It is there only while something is.
 */
export function shutdownAtExit(closable: Closable): void {
  if (open.size === 0) process.on("exit", shutdownAll);
  open.add(closable);
}

export function closedBeforeExit(closable: Closable): void {
  if (open.delete(closable) && open.size === 0) process.off("exit", shutdownAll);
}
