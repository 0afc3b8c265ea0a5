/** `{{variables}}` in prompts: found, filled in, and split for display. */

import type { Message } from "@/lib/api/types";

const VARIABLE = /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g;

export type Piece = { text: string; variable: string | null };

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(VARIABLE)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), variable: null });
    pieces.push({ text: match[0], variable: match[1]! });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), variable: null });
  return pieces;
}

/** Names in order of appearance, each once. */
export function variablesIn(messages: readonly { content: string }[]): string[] {
  const names = messages.flatMap((m) => [...m.content.matchAll(VARIABLE)].map((match) => match[1]!));
  return [...new Set(names)];
}

/** Fills in what is known; an unknown variable stays as written, so that nothing vanishes unseen. */
export function render(text: string, variables: Record<string, string>): string {
  return text.replace(VARIABLE, (whole, name: string) => variables[name] ?? whole);
}

/** A text prompt is one user message. */
export function messagesOf(prompt: string | readonly Message[]): Message[] {
  return typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt.map((m) => ({ ...m }));
}
