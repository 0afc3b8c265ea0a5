/** Tokens that stand for files in payloads: `@@@langfuseMedia:type=…|id=…|source=…@@@`. */

export interface MediaToken {
  id: string;
  type: string;
}

const TOKEN = /@@@langfuseMedia:type=([^|@\s]{1,255})\|id=([A-Za-z0-9_-]{22})\|source=[a-z0-9_]{1,40}@@@/g;
const MOST = 50;

/** The files that a value names, each once, in order. */
export function mediaIn(value: unknown): MediaToken[] {
  if (value === null || value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (!text.includes("@@@langfuseMedia:")) return [];
  const found = new Map<string, MediaToken>();
  for (const [, type = "", id = ""] of text.matchAll(TOKEN)) if (found.size < MOST) found.set(id, { id, type });
  return [...found.values()];
}
