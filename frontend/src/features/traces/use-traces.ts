import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";

import { useLive } from "@/hooks/use-live";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { Page, TraceRow } from "@/lib/api/types";
import { encodeFilters, matches, mergeRows, toQuery, type TraceFilters } from "@/lib/filters";

type List = InfiniteData<Page<TraceRow>, string | null>;

const PAGE = 100;
const REFRESH_MS = 2500;

const fetchPage = (project: string, filters: TraceFilters, cursor: string | null, signal?: AbortSignal) => {
  const params = toQuery(filters, Date.now());
  params.set("limit", String(PAGE));
  if (cursor) params.set("cursor", cursor);
  return api.get<Page<TraceRow>>(withQuery(inProject(project, "traces"), params), signal);
};

/**
 * The list of traces, newest first, kept alive by the feed. At the top new rows flow in at once;
 * further down they wait in `waiting` until `showWaiting`, so that nothing moves under the hand.
 */
export function useTraces(project: string, filters: TraceFilters) {
  const queries = useQueryClient();
  const key = useMemo(() => ["project", project, "traces", "list", encodeFilters(filters).toString()], [project, filters]);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => fetchPage(project, filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    staleTime: 30_000,
  });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.data) ?? [], [query.data]);
  const [atTop, setAtTop] = useState(true);
  const [waiting, setWaiting] = useState<TraceRow[]>([]);

  const merge = (incoming: TraceRow[]) =>
    queries.setQueryData<List>(key, (list) => list && { ...list, pages: mergeIntoFirst(list.pages, incoming) });

  const receive = (incoming: TraceRow[]) => {
    const known = new Set(rows.map((row) => row.id));
    const fresh = incoming.filter((row) => !known.has(row.id));
    if (atTop) merge(incoming);
    else {
      merge(incoming.filter((row) => known.has(row.id)));
      if (fresh.length > 0) setWaiting((list) => mergeRows(list, fresh));
    }
  };

  const catchUp = async () => receive((await fetchPage(project, filters, null)).data);
  const refresh = useThrottled(REFRESH_MS, async () => {
    void queries.invalidateQueries({ queryKey: ["project", project, "traces", "histogram"] });
    void queries.invalidateQueries({ queryKey: ["project", project, "traces", "facets"] });
    // Which rows a text search finds is the server's to say.
    if (filters.q) await catchUp();
  });
  useLive(project, "traces.deleted", ({ traces: ids, many }) => {
    if (many) void query.refetch(); // too many to name
    const gone = new Set(ids);
    const kept = (list: TraceRow[]) => list.filter((row) => !gone.has(row.id));
    queries.setQueryData<List>(key, (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, data: kept(page.data) })) });
    setWaiting(kept);
    refresh();
  });
  // What came while the feed was not open is read from the list.
  useLive(project, "state", (state) => {
    if (state === "open" && query.data) void catchUp().catch(() => undefined);
  });
  useLive(project, "traces", ({ rows: incoming }) => {
    if (!filters.q) receive(incoming.filter((row) => matches(row, filters, Date.now())));
    refresh();
  });

  const showWaiting = () => {
    merge(waiting);
    setWaiting([]);
  };
  const onTop = (top: boolean) => {
    setAtTop(top);
    if (top && waiting.length > 0) showWaiting();
  };

  return { ...query, rows, waiting: waiting.length, showWaiting, onTop };
}

/** Changed rows stay on their page; new ones join the first. */
function mergeIntoFirst(pages: Page<TraceRow>[], incoming: TraceRow[]): Page<TraceRow>[] {
  const byId = new Map(incoming.map((row) => [row.id, row]));
  const updated = pages.map((page) => ({ ...page, data: page.data.map((row) => take(byId, row)) }));
  const first = updated[0];
  return first ? [{ ...first, data: mergeRows(first.data, [...byId.values()]) }, ...updated.slice(1)] : updated;
}

function take(byId: Map<string, TraceRow>, row: TraceRow): TraceRow {
  const changed = byId.get(row.id);
  byId.delete(row.id);
  return changed ?? row;
}

/** Calls at once, then at most once an interval, never dropping the latest call. */
function useThrottled(ms: number, run: () => Promise<void>): () => void {
  const handler = useEffectEvent(() => void run().catch(() => undefined));
  const [asked, setAsked] = useState(0);
  const latest = useRef(0);
  useEffect(() => {
    if (asked === 0) return undefined;
    const wait = Math.max(0, latest.current + ms - Date.now());
    const timer = setTimeout(() => {
      latest.current = Date.now();
      handler();
    }, wait);
    return () => clearTimeout(timer);
  }, [asked, ms]);
  return () => setAsked((count) => count + 1);
}
