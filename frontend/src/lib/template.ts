/** `{{variables}}` and included prompts: found, filled in, and split for display. */

import type { Message } from "@/lib/api/types";

const VARIABLE = /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g;

/** Variables, and both ways to include a prompt: `{{> name@label}}` and the tag of Langfuse. */
export const MARKS = new RegExp(`${VARIABLE.source}|@@@langfusePrompt:name=([^|@]+)\\|(?:version=(\\d{1,9})|label=([^|@]+))@@@|\\{\\{>[ \\t]*([^@{}\\n]+?)(?:@([^@{}\\s]+))?[ \\t]*\\}\\}`, "g");

/** Another prompt whose text stands here, by number or label where one is named. */
export interface Include {
  name: string;
  at: string | null;
}

export type Piece = { text: string; variable: string | null; include: Include | null };

/** What a match of MARKS stands for. */
export function markOf(match: RegExpMatchArray): Pick<Piece, "variable" | "include"> {
  if (match[1] !== undefined) return { variable: match[1], include: null };
  return { variable: null, include: { name: (match[2] ?? match[5])!, at: match[3] ?? match[4] ?? match[6] ?? null } };
}

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  const plain = (from: number, to?: number) => pieces.push({ text: text.slice(from, to), variable: null, include: null });
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > end) plain(end, match.index);
    pieces.push({ text: match[0], ...markOf(match) });
    end = match.index + match[0].length;
  }
  if (end < text.length) plain(end);
  return pieces;
}

/** The prompts that a text includes, each reference once. */
export function includesIn(text: string): Include[] {
  const found = piecesOf(text).flatMap(({ include }) => include ?? []);
  return [...new Map(found.map((include) => [`${include.name}@${include.at}`, include])).values()];
}

/** Address of the prompt that is included, at the version or label that is named. */
export function includeHref(project: string, { name, at }: Include): string {
  const page = `/p/${project}/prompts/${name.split("/").map(encodeURIComponent).join("/")}`;
  return at !== null && /^\d+$/.test(at) ? `${page}?v=${at}` : page;
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
