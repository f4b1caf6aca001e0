/** Whatever must be flushed and closed before the process ends. */
export interface Closable {
  /** Synchronous, and must not throw. */
  shutdown(): void;
}

const open = new Set<Closable>();

function shutdownAll(): void {
  for (const closable of open) closable.shutdown();
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
