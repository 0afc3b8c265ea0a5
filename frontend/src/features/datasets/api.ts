import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { allPages } from "@/lib/api/all-pages";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { ComparedItem, Dataset, DatasetItem, DatasetRun, Experiment, ExperimentItem, Page } from "@/lib/api/types";

const PAGE = 100;

const nextOf = <T>(page: Page<T>) => page.next_cursor;

export const datasetQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "datasets", id],
    queryFn: ({ signal }) => api.get<Dataset>(inProject(project, "datasets", id), signal),
  });

export const itemsQuery = (project: string, id: string, q: string) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "datasets", id, "items", q],
    queryFn: ({ pageParam, signal }) => api.get<Page<DatasetItem>>(withQuery(inProject(project, "datasets", id, "items"), { limit: PAGE, cursor: pageParam, q }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: nextOf,
  });

export const datasetRunsQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "datasets", id, "runs"],
    queryFn: ({ signal }) => allPages<DatasetRun>(inProject(project, "datasets", id, "runs"), signal, 400),
  });

export const comparisonQuery = (project: string, id: string, runs: string[]) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "datasets", id, "comparison", ...runs],
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<ComparedItem>>(withQuery(inProject(project, "datasets", id, "comparison"), { limit: 50, cursor: pageParam, runs: runs.join(",") }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: nextOf,
    enabled: runs.length > 0,
  });

export const experimentsQuery = (project: string) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "experiments"],
    queryFn: ({ pageParam, signal }) => api.get<Page<Experiment>>(withQuery(inProject(project, "experiments"), { limit: 50, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: nextOf,
  });

export const experimentQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "experiments", "one", id],
    queryFn: ({ signal }) => api.get<Experiment>(inProject(project, "experiments", id), signal),
  });

export const executionsQuery = (project: string, id: string) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "experiments", "one", id, "items"],
    queryFn: ({ pageParam, signal }) => api.get<Page<ExperimentItem>>(withQuery(inProject(project, "experiments", id, "items"), { limit: 50, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: nextOf,
  });

/** Everything read of datasets is asked for again. */
function useForget() {
  const { slug } = useProject();
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["project", slug, "datasets"] });
}

export function useCreateDataset() {
  const { slug } = useProject();
  return useMutation({
    mutationFn: (fields: { name: string; description: string }) => api.post<Dataset>(inProject(slug, "datasets"), fields),
    onSuccess: useForget(),
  });
}

export function useDeleteDataset(id: string) {
  const { slug } = useProject();
  return useMutation({ mutationFn: () => api.delete(inProject(slug, "datasets", id)), onSuccess: useForget() });
}

export interface ItemFields {
  input?: unknown;
  expected_output?: unknown;
  metadata?: unknown;
  status?: DatasetItem["status"];
}

/** Writes an item: a new one without `item`. */
export function useSaveItem(dataset: string, item?: string) {
  const { slug } = useProject();
  const path = inProject(slug, "datasets", dataset, "items");
  return useMutation({
    mutationFn: (fields: ItemFields) => (item === undefined ? api.post<DatasetItem>(path, fields) : api.patch<DatasetItem>(inProject(slug, "datasets", dataset, "items", item), fields)),
    onSuccess: useForget(),
  });
}

export function useDeleteItem(dataset: string, item: string) {
  const { slug } = useProject();
  return useMutation({ mutationFn: () => api.delete(inProject(slug, "datasets", dataset, "items", item)), onSuccess: useForget() });
}
