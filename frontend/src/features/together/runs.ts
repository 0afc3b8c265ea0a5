/** Runs that a room sees: live through awareness, the latest ones in the document. */

import type { Answer } from "@/lib/answer-stream";

export type SharedRun = Pick<Answer, "model" | "text" | "state" | "error" | "traceId" | "ttftMs" | "tokens" | "tokensPerSecond"> & { id: string };

export interface KeptRun extends SharedRun {
  by: { name: string; color: string };
  at: number;
}

/** The server takes 16 KiB of a person's state; of a long answer the end is shown live. */
const LIVE_LEN = 4000;
const KEPT_LEN = 8000;
export const KEPT_RUNS = 8;

export const liveRun = (id: string, answer: Answer): SharedRun => ({ ...shared(id, answer), text: answer.text.slice(-LIVE_LEN) });

export const keptRun = (id: string, answer: Answer, by: KeptRun["by"]): KeptRun => ({ ...shared(id, answer), text: answer.text.slice(0, KEPT_LEN), by, at: Date.now() });

function shared(id: string, { model, text, state, error, traceId, ttftMs, tokens, tokensPerSecond }: Answer): SharedRun {
  return { id, model, text, state, error, traceId, ttftMs, tokens, tokensPerSecond };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
const STATES = new Set(["waiting", "streaming", "done", "stopped", "failed"]);

/** What a browser told of its run; anybody may have written it. */
export function sharedRunOf(value: unknown): SharedRun | null {
  if (typeof value !== "object" || value === null) return null;
  const run = value as Record<string, unknown>;
  if (!STATES.has(text(run.state))) return null;
  return {
    id: text(run.id),
    model: text(run.model),
    text: text(run.text),
    state: run.state as SharedRun["state"],
    error: text(run.error) || null,
    traceId: text(run.traceId) || null,
    ttftMs: number(run.ttftMs),
    tokens: number(run.tokens) ?? 0,
    tokensPerSecond: number(run.tokensPerSecond),
  };
}

export function keptRunOf(value: unknown): KeptRun | null {
  const run = sharedRunOf(value);
  if (!run) return null;
  const { by, at } = value as { by?: { name?: unknown; color?: unknown }; at?: unknown };
  return { ...run, by: { name: text(by?.name), color: text(by?.color) }, at: number(at) ?? 0 };
}
