/** The variables of a draft: those of its text, with the type and example that the room agreed on. */

import * as Y from "yjs";

import type { Message } from "@/lib/api/types";
import { variablesIn } from "@/lib/template";

import type { Room } from "./room";

export const VARIABLE_TYPES = ["text", "number", "boolean", "json"];

export interface Variable {
  type: string;
  example: string;
}

/** The messages as a request has them; a text prompt is one message of the user. */
export function messagesOf(room: Room): Message[] {
  if (room.meta.get("type") !== "chat") return [{ role: "user", content: room.text.toString() }];
  return room.messages.toArray().map((message) => {
    const content = message.get("content");
    return { role: String(message.get("role") ?? "user"), content: content instanceof Y.Text ? content.toString() : JSON.stringify(content ?? "") };
  });
}

/** Names in the order of the text, then those that only the form still knows. */
export const variablesOf = (room: Room): string[] => [...new Set([...variablesIn(messagesOf(room)), ...room.variables.keys()])];

export function variableOf(room: Room, name: string): Variable {
  const value = room.variables.get(name);
  const plain = (value instanceof Y.Map ? value.toJSON() : value) as { type?: unknown; example?: unknown } | undefined;
  const example = plain?.example ?? "";
  return { type: String(plain?.type ?? "text"), example: typeof example === "string" ? example : JSON.stringify(example) };
}
