/** An observation as the call that it was: what the playground and the clipboard make of it. */

import type { Observation } from "@/lib/api/types";
import { plainMessages } from "@/lib/conversation";
import type { CallToCopy } from "@/lib/snippets";

const startedFirst = (list: Observation[]) => list.toSorted((a, b) => a.started_at.localeCompare(b.started_at))[0];

export const isGeneration = (o: Observation): boolean => o.type.toLowerCase() === "generation";

/** What one most likely came for: the first generation, else the root. */
export const mainOf = (observations: Observation[]): Observation | undefined => startedFirst(observations.filter(isGeneration)) ?? startedFirst(observations);

/** The call to copy, if it was one. Messages stay as they were sent, with their images and tool calls. */
export function callOf(observation: Observation): CallToCopy | null {
  const messages = sentMessages(observation.input) ?? plainMessages(observation.input);
  if (!messages || !observation.model) return null;
  const parameters = Object.fromEntries(Object.entries(observation.model_parameters ?? {}).filter(([name]) => name !== "stream"));
  return { baseUrl: window.location.origin, model: observation.model, messages, parameters };
}

/** Messages with all that was sent of them, or null where it was no conversation of that form. */
export function sentMessages(input: unknown): Record<string, unknown>[] | null {
  const list = typeof input === "object" && input !== null && "messages" in input ? input.messages : input;
  return Array.isArray(list) && list.length > 0 && list.every(isMessage) ? list : null;
}

const isMessage = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && "role" in value && typeof value.role === "string" && ("content" in value || "tool_calls" in value);

/** How to write a call down is fetched when somebody asks. */
export async function written(call: CallToCopy, how: "asCurl" | "asPython"): Promise<string> {
  return (await import("@/lib/snippets"))[how](call);
}

export const playgroundAddress = (project: string, traceId: string, observationId?: string): string =>
  `/p/${project}/playground?${new URLSearchParams({ trace: traceId, ...(observationId && { o: observationId }) })}`;
