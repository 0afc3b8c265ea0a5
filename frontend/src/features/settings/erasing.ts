/** What is said of erasures: how far they are, and when they will be done. */

import type { components } from "@/lib/api/schema";
import { formatClock, formatCount, formatPercent, plural } from "@/lib/format";

type Erasure = components["schemas"]["ErasureBody"];
const DAY_MS = 86_400_000;

export const isOpen = (erasure: Erasure): boolean => erasure.state === "queued" || erasure.state === "running";

/** The days that were typed, null for ever, and what is wrong with them. */
export function daysOf(typed: string, most: number): { days: number | null; problem: string | null } {
  const text = typed.trim();
  const days = text === "" ? null : Number(text);
  if (days === null) return { days, problem: null };
  if (!/^\d+$/.test(text) || days < 1) return { days: null, problem: "Want whole days, or nothing to keep traces for ever" };
  return days > most ? { days: null, problem: `At most ${formatCount(most)} days` } : { days, problem: null };
}

export const dayOf = (iso: string): string => new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** When something goes for the first time, where nothing is that old yet. */
export const firstGoes = (firstAt: string, days: number): string => dayOf(new Date(Math.ceil((Date.parse(firstAt) + days * DAY_MS) / DAY_MS) * DAY_MS).toISOString());

export function whatOf(erasure: Erasure): string {
  switch (erasure.what) {
    case "user":
      return `Traces of user ${erasure.user_id ?? ""}`;
    case "traces":
      return "All traces";
    case "project":
      return "The project";
    case "retention":
      return erasure.before === null ? "Traces that are too old" : `Traces from before ${dayOf(erasure.before)}`;
  }
}

/** Traces gone of those there were, from 0 to 1; more may have come than there were. */
export const shareOf = ({ trace_count: gone, trace_total: total }: Erasure): number => (total === null || total === 0 ? 0 : Math.min(1, gone / total));

/** "45 %, 12,000 traces/s, 00:20 left", as far as it is known. */
export function paceOf(erasure: Erasure, now: number): string {
  if (erasure.state === "queued" || erasure.started_at === null) return "Waits for a worker";
  const gone = erasure.trace_count;
  const total = erasure.trace_total ?? 0;
  if (gone === 0) return `Looking through ${plural(total, "trace")}`;
  if (gone >= total) return `${formatCount(gone)} traces are gone; clearing up behind them`;
  const rate = gone / Math.max(1, (now - Date.parse(erasure.started_at)) / 1000);
  return `${formatPercent(shareOf(erasure))}, ${formatCount(Math.round(rate))} traces/s, about ${formatClock(Math.ceil((total - gone) / rate))} left`;
}

/** What came of it. */
export function outcomeOf(erasure: Erasure): string {
  const gone = plural(erasure.trace_count, "trace");
  if (erasure.state === "done") {
    const took = erasure.started_at && erasure.done_at ? Math.max(1, Math.round((Date.parse(erasure.done_at) - Date.parse(erasure.started_at)) / 1000)) : null;
    return took === null ? `${gone} erased` : `${gone} erased in ${plural(took, "second")}`;
  }
  return erasure.state === "canceled" ? `Called off; ${gone} erased before` : `Gave up; ${gone} erased before`;
}
