/** Unsaved text, kept in this browser until it is saved or thrown away. */

import type { Content } from "./content";

export interface Draft {
  content: Content;
  /** The version that was changed; null where the prompt does not exist yet. */
  base: number | null;
  message: string;
  /** The name typed so far, for a prompt that does not exist yet. */
  name?: string;
  kept_at: string;
}

const keyOf = (project: string, name: string | null): string => `hone.draft.${project}.${name ?? " new"}`;

export function keptDraft(project: string, name: string | null, storage: Pick<Storage, "getItem"> = localStorage): Draft | null {
  try {
    const value: unknown = JSON.parse(storage.getItem(keyOf(project, name)) ?? "null");
    return isDraft(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether the browser kept it; where it did not, the page must warn before it is left. */
export function keepDraft(project: string, name: string | null, draft: Draft | null, storage: Pick<Storage, "setItem" | "removeItem"> = localStorage): boolean {
  try {
    if (draft === null) storage.removeItem(keyOf(project, name));
    else storage.setItem(keyOf(project, name), JSON.stringify(draft));
    return true;
  } catch {
    return draft === null;
  }
}

/** Storage is written by older builds too. */
function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null || !("content" in value)) return false;
  const content = value.content as Partial<Content> | null;
  const prompt = content?.prompt;
  const messages = Array.isArray(prompt) && prompt.every((m) => typeof m?.role === "string");
  return (typeof prompt === "string" || messages) && typeof content?.config === "object" && content.config !== null;
}
