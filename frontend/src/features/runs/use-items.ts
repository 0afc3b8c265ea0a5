import { infiniteQueryOptions, useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useProject } from "@/hooks/use-project";
import { api, withQuery } from "@/lib/api/client";
import type { Run, Page, RunItem, RunState } from "@/lib/api/types";

import { itemsPath } from "./api";
import { closedCount, isOpen } from "./progress";

type Pages = InfiniteData<Page<RunItem>, string | null>;
export type Shown = "all" | Extract<RunState, "done" | "failed">;

const LIMIT = 200;
const REFRESH_MS = 1000;
/** Items are worked off in order, so news is in the first pages that have open items. */
const FRONTIER = 2;

const itemsQuery = (project: string, id: string, shown: Shown) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "runs", id, "items", shown],
    queryFn: ({ pageParam, signal }) => fetchPage(project, id, shown, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

const fetchPage = (project: string, id: string, shown: Shown, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<RunItem>>(withQuery(itemsPath(project, id), { limit: LIMIT, cursor, state: shown === "all" ? null : shown }), signal);

/** The run's items, page by page; while it runs, the pages that change are read again once a second. */
export function useItems(run: Run, shown: Shown) {
  const { slug } = useProject();
  const id = String(run.id);
  const query = useInfiniteQuery(itemsQuery(slug, id, shown));
  useRefresh(run, shown);
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data).filter((item) => shown === "all" || item.state === shown);
  return { ...query, rows };
}

function useRefresh(run: Run, shown: Shown): void {
  const { slug } = useProject();
  const queries = useQueryClient();
  const id = String(run.id);
  const mark = `${closedCount(run)} ${run.state}`;
  const seen = useRef(mark);
  useEffect(() => {
    if (seen.current === mark) return undefined;
    const { queryKey } = itemsQuery(slug, id, shown);
    const read = async () => {
      seen.current = mark;
      if (!isOpen(run) || shown !== "all") return queries.invalidateQueries({ queryKey });
      const pages = queries.getQueryData<Pages>(queryKey);
      const fresh = await frontier(slug, id, pages);
      queries.setQueryData<Pages>(queryKey, (now) => now && { ...now, pages: now.pages.map((page, index) => fresh.get(index) ?? page) });
      return undefined;
    };
    // A page that could not be read now is read with the next event.
    const timer = setTimeout(() => void read().catch(() => undefined), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [mark, slug, id, shown, run, queries]);
}

async function frontier(project: string, id: string, pages: Pages | undefined): Promise<Map<number, Page<RunItem>>> {
  const open = (pages?.pages ?? []).flatMap((page, index) => (page.data.some(isOpen) ? [index] : [])).slice(0, FRONTIER);
  const fresh = await Promise.all(open.map((index) => fetchPage(project, id, "all", pages!.pageParams[index] ?? null)));
  return new Map(open.map((index, place) => [index, fresh[place]!]));
}
