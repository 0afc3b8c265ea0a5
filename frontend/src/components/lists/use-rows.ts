import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { useLive } from "@/hooks/use-live";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { Page } from "@/lib/api/types";

const PAGE = 100;
const REFRESH_MS = 3000;

interface RowsOf {
  project: string;
  /** The path below the project. */
  path: string[];
  /** What makes this list another one. */
  search: string;
  /** What the server is asked, now. */
  query: () => URLSearchParams;
}

/** A list page by page, newest first; what is new is read while nobody has scrolled away. */
export function useRows<Row>({ project, path, search, query }: RowsOf) {
  const queries = useQueryClient();
  const key = useMemo(() => ["project", project, ...path, "list", search], [project, path, search]);
  const top = useRef(true);
  const found = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => {
      const params = query();
      params.set("limit", String(PAGE));
      if (pageParam) params.set("cursor", pageParam);
      return api.get<Page<Row>>(withQuery(inProject(project, ...path), params), signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    staleTime: 15_000,
  });
  const [newer, setNewer] = useState(false);
  const latest = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // At once, then every few seconds, and always once more after the last that was told.
  const refresh = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current = Date.now();
      void queries.invalidateQueries({ queryKey: key });
    }, Math.max(0, latest.current + REFRESH_MS - Date.now()));
  };
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [key],
  );
  const isOnePage = (found.data?.pages.length ?? 0) <= 1;
  useLive(project, "traces", () => {
    if (top.current && isOnePage) refresh();
    else setNewer(true);
  });
  const rows = useMemo(() => found.data?.pages.flatMap((page) => page.data) ?? [], [found.data]);
  const onTop = (isTop: boolean) => {
    top.current = isTop;
  };
  /** Back to the first page, with what came since. */
  const showNewer = () => {
    setNewer(false);
    queries.setQueryData<InfiniteData<Page<Row>, string | null>>(key, (had) => had && { pages: had.pages.slice(0, 1), pageParams: had.pageParams.slice(0, 1) });
    void queries.invalidateQueries({ queryKey: key });
  };
  return { ...found, rows, onTop, newer, showNewer };
}
