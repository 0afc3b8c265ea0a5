import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient, type InfiniteData, type QueryClient } from "@tanstack/react-query";

import { useLive } from "@/hooks/use-live";
import { useProject } from "@/hooks/use-project";
import { allPages } from "@/lib/api/all-pages";
import { api, inProject, withQuery } from "@/lib/api/client";
import { runQuery } from "@/lib/api/queries";
import type { Page, Run, RunItem } from "@/lib/api/types";

import type { Row } from "./inputs";
import { isNewer, isOpen } from "./progress";

type Pages<T> = InfiniteData<Page<T>, string | null>;

const CHECK_MS = 10_000;

const runsKey = (project: string) => ["project", project, "runs", "list"];

export const runsListQuery = (project: string) =>
  infiniteQueryOptions({
    queryKey: runsKey(project),
    queryFn: ({ pageParam, signal }) => api.get<Page<Run>>(withQuery(inProject(project, "runs"), { limit: 50, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

/** The list of runs, kept fresh by the live feed. */
export function useRuns() {
  const { slug } = useProject();
  const queries = useQueryClient();
  useLive(slug, "run", (run) => takeRun(queries, slug, run));
  return useInfiniteQuery({
    ...runsListQuery(slug),
    // What the feed missed, as while it was opening, is asked for.
    refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.data.some(isOpen)) ? CHECK_MS : false),
  });
}

/** Puts a run's news wherever it is shown. */
export function takeRun(queries: QueryClient, project: string, run: Run): void {
  queries.setQueryData<Run>(runQuery(project, String(run.id)).queryKey, (known) => (known && !isNewer(run, known) ? known : { ...known, ...run }));
  queries.setQueryData<Pages<Run>>(runsKey(project), (list) => list && withRun(list, run));
}

function withRun(list: Pages<Run>, run: Run): Pages<Run> {
  const isHere = list.pages.some((page) => page.data.some((known) => known.id === run.id));
  const change = (known: Run) => (known.id === run.id && isNewer(run, known) ? { ...known, ...run } : known);
  const pages = list.pages.map((page, index) => ({
    ...page,
    data: !isHere && index === 0 ? [run, ...page.data] : page.data.map(change),
  }));
  return { ...list, pages };
}

export interface NewRun {
  name: string;
  prompt: { name: string; version?: number; label?: string };
  model: string;
  inputs: Row[];
}

export function useCreateRun() {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (run: NewRun) => api.post<Run>(inProject(slug, "runs"), run),
    onSuccess: (run) => takeRun(queries, slug, run),
  });
}

export function useCancelRun(id: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => api.post<Run>(inProject(slug, "runs", id, "cancel")),
    onSuccess: async (run) => {
      takeRun(queries, slug, run);
      await queries.invalidateQueries({ queryKey: ["project", slug, "runs", id, "items"] });
    },
  });
}

export const itemsPath = (project: string, id: string): string => inProject(project, "runs", id, "items");

export const allItems = (project: string, id: string): Promise<RunItem[]> => allPages<RunItem>(itemsPath(project, id), undefined, 1_000_000);
