/** How a run stands, in the reader's words. */

import { UNKNOWN, formatClock, formatCount, formatDuration, formatPercent, formatRate } from "@/lib/format";
import type { Run, RunItem, RunState } from "@/lib/api/types";

export const STATES: Record<RunState, string> = { queued: "Queued", running: "Running", done: "Done", failed: "Failed", canceled: "Canceled" };

export const isOpen = ({ state }: Pick<Run, "state">): boolean => state === "queued" || state === "running";

export const closedCount = ({ done, failed }: Pick<Run, "done" | "failed">): number => done + failed;

export interface Fact {
  name: string;
  value: string;
  /** The exact value, or why there is none. */
  title?: string;
  tone?: "error";
}

export function factsOf(run: Run, now: number): Fact[] {
  const closed = closedCount(run);
  return [
    { name: "Done", value: formatPercent(run.total ? closed / run.total : null), title: "Inputs that have an answer, or failed for good" },
    { name: "Inputs", value: `${formatCount(closed)} of ${formatCount(run.total)}`, title: `${formatCount(run.done)} answered, ${formatCount(run.failed)} failed` },
    { name: "Failed", value: formatCount(run.failed), tone: run.failed > 0 ? "error" : undefined, title: "Inputs that have no answer after their last attempt" },
    { name: "Rate", value: formatRate(run.rate, "inputs/s"), title: run.rate === null ? "Known when the first inputs are answered" : `${run.rate} inputs a second since the start` },
    isOpen(run)
      ? { name: "Time left", value: run.eta_s === null ? UNKNOWN : formatClock(Math.round(run.eta_s)), title: run.eta_s === null ? "Known when the first inputs are answered" : "At the rate so far" }
      : { name: "Took", value: formatDuration(tookMs(run, now)), title: "From the first input to the last" },
  ];
}

export function tookMs({ started_at, finished_at }: Pick<Run, "started_at" | "finished_at">, now: number): number | null {
  if (!started_at) return null;
  return (finished_at ? Date.parse(finished_at) : now) - Date.parse(started_at);
}

/** Variables in one line: a single one by its value alone. */
export function variablesLine(variables: RunItem["variables"]): { name: string | null; value: string }[] {
  const entries = Object.entries(variables);
  return entries.map(([name, value]) => ({ name: entries.length === 1 ? null : name, value: oneLine(value) }));
}

export const oneLine = (text: string): string => text.slice(0, 400).replace(/\s+/g, " ").trim();

/** Whether a run that came over the live feed is news: events may arrive out of order. */
export const isNewer = (incoming: Run, known: Run): boolean => isOpen(known) && (!isOpen(incoming) || closedCount(incoming) >= closedCount(known));
