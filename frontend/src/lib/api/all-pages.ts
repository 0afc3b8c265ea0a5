/** Whole lists out of pages, for lists that are short, or that a person asked for as a whole. */

import { api, withQuery } from "@/lib/api/client";
import type { Page } from "@/lib/api/types";

const LIMIT = 200; // the most that the server gives at once
const MOST = 5000;

/** All rows of a list, or about its first `most`. */
export async function allPages<T>(path: string, signal?: AbortSignal, most = MOST): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<T> = await api.get<Page<T>>(withQuery(path, { limit: LIMIT, cursor }), signal);
    rows.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null && rows.length < most);
  return rows;
}
