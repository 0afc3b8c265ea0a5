/** Runs that a room sees: live through awareness; the document keeps the latest ones, from their beginning. */

import type { Answer, ToolCall } from "@/lib/answer-stream";

export type SharedRun = Pick<Answer, "model" | "text" | "toolCalls" | "error" | "traceId" | "ttftMs" | "tokens" | "tokensPerSecond" | "finishReason"> & {
  id: string;
  /** Interrupted: the page that ran it was closed. */
  state: Answer["state"] | "interrupted";
};

export interface Runner {
  id: string;
  name: string;
  color: string;
}

export interface KeptRun extends SharedRun {
  by: Runner;
  /** Number of the page that runs it among those that are in the room. */
  client: number | null;
  at: number;
}

/** The server takes 16 KiB of a person's state; of a long answer the end is shown live. */
const LIVE_LEN = 4000;
const LIVE_CALL_LEN = 400;
const KEPT_LEN = 8000;
const MOST_CALLS = 8;
export const KEPT_RUNS = 8;

export function liveRun(id: string, answer: Answer): SharedRun {
  const toolCalls = called(answer.toolCalls, LIVE_CALL_LEN);
  const left = LIVE_LEN - toolCalls.reduce((sum, call) => sum + call.arguments.length, 0);
  return { ...shared(id, answer), toolCalls, text: answer.text.slice(-left) };
}

export const keptRun = (id: string, answer: Answer, by: Runner, client: number): KeptRun => ({
  ...shared(id, answer),
  toolCalls: called(answer.toolCalls, KEPT_LEN / MOST_CALLS),
  text: answer.text.slice(0, KEPT_LEN),
  by,
  client,
  at: Date.now(),
});

const called = (calls: ToolCall[], len: number): ToolCall[] => calls.slice(0, MOST_CALLS).map((call) => ({ ...call, arguments: call.arguments.slice(0, len) }));

function shared(id: string, { model, text, toolCalls, state, error, traceId, ttftMs, tokens, tokensPerSecond, finishReason }: Answer): SharedRun {
  return { id, model, text, toolCalls, state, error, traceId, ttftMs, tokens, tokensPerSecond, finishReason };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
const STATES = new Set(["waiting", "streaming", "done", "stopped", "failed", "interrupted"]);

/** What a browser told of its run; anybody may have written it. */
export function sharedRunOf(value: unknown): SharedRun | null {
  if (typeof value !== "object" || value === null) return null;
  const run = value as Record<string, unknown>;
  if (!STATES.has(text(run.state))) return null;
  return {
    id: text(run.id),
    model: text(run.model),
    text: text(run.text),
    toolCalls: callsOf(run.toolCalls),
    state: run.state as SharedRun["state"],
    error: text(run.error) || null,
    traceId: text(run.traceId) || null,
    ttftMs: number(run.ttftMs),
    tokens: number(run.tokens) ?? 0,
    tokensPerSecond: number(run.tokensPerSecond),
    finishReason: text(run.finishReason) || null,
  };
}

function callsOf(value: unknown): ToolCall[] {
  const calls = Array.isArray(value) ? value.filter((call): call is Record<string, unknown> => typeof call === "object" && call !== null) : [];
  return calls.slice(0, MOST_CALLS).map((call) => ({ id: text(call.id) || null, name: text(call.name), arguments: text(call.arguments) }));
}

export function keptRunOf(value: unknown): KeptRun | null {
  const run = sharedRunOf(value);
  if (!run) return null;
  const { by, client, at } = value as { by?: Partial<Record<keyof Runner, unknown>> | null; client?: unknown; at?: unknown };
  return { ...run, by: { id: text(by?.id), name: text(by?.name), color: text(by?.color) }, client: number(client), at: number(at) ?? 0 };
}
