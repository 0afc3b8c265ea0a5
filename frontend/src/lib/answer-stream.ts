/** One answer of a model as it comes: text, tokens a second, how it ended. */

import { errorFrom, headersFor, inProject } from "@/lib/api/client";
import { readEvents } from "@/lib/sse";

export interface ToolCall {
  id: string | null;
  name: string;
  /** JSON, as far as it has come. */
  arguments: string;
}

export interface Answer {
  model: string;
  text: string;
  toolCalls: ToolCall[];
  state: "waiting" | "streaming" | "done" | "stopped" | "failed";
  error: string | null;
  traceId: string | null;
  ttftMs: number | null;
  tokens: number; // pieces while streaming, the server's count at the end
  counted: boolean;
  inputTokens: number | null;
  tokensPerSecond: number | null;
  finishReason: string | null;
}

interface CallPiece {
  index?: number;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null };
}

interface Choice {
  delta?: { content?: string | null; tool_calls?: CallPiece[] | null };
  finish_reason?: string | null;
}

interface Chunk {
  choices?: Choice[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  timings?: { tokens_per_second?: number | null };
  error?: { message: string };
}

export const isRunning = (answer: { state: string }): boolean => answer.state === "waiting" || answer.state === "streaming";

export const answerBegun = (model: string): Answer => ({
  model,
  text: "",
  toolCalls: [],
  state: "waiting",
  error: null,
  traceId: null,
  ttftMs: null,
  tokens: 0,
  counted: false,
  inputTokens: null,
  tokensPerSecond: null,
  finishReason: null,
});

/** Sends a request and fills the answer in as it comes; throws what went wrong. */
export async function answerStream(project: string, body: Record<string, unknown>, signal: AbortSignal, answer: Answer, show: () => void): Promise<void> {
  const began = performance.now();
  const response = await fetch(`/api/${inProject(project, "chat", "completions")}`, {
    method: "POST",
    headers: { ...headersFor("POST", true), Accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal,
    credentials: "same-origin",
  });
  answer.traceId = response.headers.get("x-hone-trace-id");
  if (!response.ok || !response.body) throw await errorFrom(response);
  for await (const event of readEvents(response.body)) {
    if (event.data === "[DONE]") return;
    take(answer, JSON.parse(event.data) as Chunk, performance.now() - began);
    show();
  }
  if (answer.finishReason === null) throw new Error("The answer broke off before its end.");
}

function take(answer: Answer, chunk: Chunk, elapsedMs: number): void {
  if (chunk.error) throw new Error(chunk.error.message);
  for (const choice of chunk.choices ?? []) takeChoice(answer, choice, elapsedMs);
  if (chunk.usage) {
    answer.tokens = chunk.usage.completion_tokens;
    answer.inputTokens = chunk.usage.prompt_tokens;
    answer.counted = true;
  }
  if (chunk.timings?.tokens_per_second) answer.tokensPerSecond = chunk.timings.tokens_per_second;
}

function takeChoice(answer: Answer, { delta, finish_reason }: Choice, elapsedMs: number): void {
  if (delta?.content) takeText(answer, delta.content, elapsedMs);
  for (const piece of delta?.tool_calls ?? []) takeCall(answer, piece, elapsedMs);
  answer.finishReason = finish_reason ?? answer.finishReason;
}

/** A call comes in pieces: its name first, then its arguments bit by bit. */
function takeCall(answer: Answer, { index = 0, id, function: called }: CallPiece, elapsedMs: number): void {
  const before = answer.toolCalls[index] ?? { id: null, name: "", arguments: "" };
  const calls = [...answer.toolCalls];
  calls[index] = { id: id ?? before.id, name: before.name + (called?.name ?? ""), arguments: before.arguments + (called?.arguments ?? "") };
  answer.toolCalls = calls;
  takePiece(answer, elapsedMs);
}

function takeText(answer: Answer, text: string, elapsedMs: number): void {
  answer.text += text;
  takePiece(answer, elapsedMs);
}

function takePiece(answer: Answer, elapsedMs: number): void {
  answer.ttftMs ??= elapsedMs;
  answer.state = "streaming";
  answer.tokens += 1;
  const seconds = (elapsedMs - answer.ttftMs) / 1000;
  if (answer.tokens > 1 && seconds > 0) answer.tokensPerSecond = (answer.tokens - 1) / seconds;
}
