/** What the form of a connection reads and sends. */

import type { Connection } from "@/lib/api/types";

import type { ConnectionFields } from "./api";

/** Names of models, one a line or separated by commas, each once. */
export const modelsOf = (text: string): string[] => [...new Set(text.split(/[\n,]/).map((name) => name.trim()).filter(Boolean))];

/** What is wrong with a base URL, or null; an empty one is only not there yet. */
export function urlProblem(text: string): string | null {
  if (!text) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !["http:", "https:"].includes(url.protocol)) return "Wanted an address that begins with https:// or http://";
  if (url.search || url.hash) return "Wanted an address without ? or #";
  if (url.username || url.password) return "The key belongs in its own field, not into the address";
  return url.pathname.endsWith("/chat/completions") ? "Leave out /chat/completions; it is added" : null;
}

/** Only what is different is sent, so that a key which nobody typed again stays. */
export function changesOf(before: Connection, after: ConnectionFields): Partial<ConnectionFields> {
  const changes: Partial<ConnectionFields> = {};
  if (after.name !== before.name) changes.name = after.name;
  if (after.base_url !== before.base_url) changes.base_url = after.base_url;
  if (after.api_key) changes.api_key = after.api_key;
  if (after.models.join("\n") !== before.models.join("\n")) changes.models = after.models;
  return changes;
}
