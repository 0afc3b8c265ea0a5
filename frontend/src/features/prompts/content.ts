/** What a version is made of and the editor changes: messages or text, and the config. */

import type { Message, PromptVersion } from "@/lib/api/types";

import type { Inputs } from "./declared";
import { normalized, type Config } from "./parameters";

export interface Content {
  type: "text" | "chat";
  prompt: string | Message[];
  config: Config;
  /** What is declared of variables; drafts kept by older releases have none. */
  inputs?: Inputs;
}

export function contentOf({ type, prompt, config, inputs }: PromptVersion): Content {
  return { type, prompt, config, inputs: inputs as unknown as Inputs };
}

export function emptyContent(type: Content["type"]): Content {
  const prompt = type === "text" ? "" : [{ role: "system", content: "" }, { role: "user", content: "" }];
  return { type, prompt, config: {} };
}

/** The messages as text. What other programs stored (images, tool calls) is told by its JSON and never changed. */
export const messagesIn = (content: Content): Message[] =>
  typeof content.prompt === "string" ? [{ role: "user", content: content.prompt }] : content.prompt.map((m) => ({ role: m.role, content: textOf(m) }));

export const isPlain = (message: Message): boolean => typeof message.content === "string";

function textOf(message: Message): string {
  if (isPlain(message)) return message.content;
  return JSON.stringify({ ...message, role: undefined }, null, 2);
}

/** The same content as the other type: a chat becomes its texts, a text becomes one user message. */
export function converted(content: Content, type: Content["type"]): Content {
  if (type === content.type) return content;
  if (type === "text") {
    return { ...content, type, prompt: messagesIn(content).map((m) => m.content).filter(Boolean).join("\n\n") };
  }
  return { ...content, type, prompt: messagesIn(content) };
}

/** What the server is sent. */
export function toSend(content: Content): Content {
  return { ...content, config: normalized(content.config), inputs: content.inputs ?? {} };
}

/** Order of keys does not matter, order of messages does. */
export function sameContent(a: Content, b: Content): boolean {
  return stable(toSend(a)) === stable(toSend(b));
}

export function stable(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
      : inner,
  );
}

export const isBlank = (content: Content): boolean => messagesIn(content).every((m) => m.content.trim() === "");

/** Roles of a chat; an assistant's turn between users' is an example. */
export const ROLES = ["system", "developer", "user", "assistant", "tool"] as const;

/** The role that most likely comes next. */
export function nextRole(messages: readonly Message[]): string {
  const latest = messages.at(-1)?.role;
  if (latest === undefined) return "system";
  return latest === "user" ? "assistant" : "user";
}

export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}
