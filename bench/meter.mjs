import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Starts measuring this process; the returned function stops and gives milliseconds. */
export function startMeter() {
  const loop = performance.eventLoopUtilization();
  const mainThread = mainThreadCpuMs();
  const cpu = process.cpuUsage();
  const start = performance.now();
  return () => {
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    const mainThreadBusyMs = performance.eventLoopUtilization(loop).active;
    const mainThreadCpu = mainThread === null ? null : mainThreadCpuMs() - mainThread;
    return { wallMs, cpuMs: (user + system) / 1000, mainThreadBusyMs, mainThreadCpuMs: mainThreadCpu };
  };
}

/** Linux only: unlike the busy time of the event loop, it excludes waiting for a free core. */
function mainThreadCpuMs() {
  try {
    const nanoseconds = Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]);
    return nanoseconds > 0 ? nanoseconds / 1e6 : null;
  } catch {
    return null;
  }
}
