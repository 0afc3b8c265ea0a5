import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject } from "@/lib/api/client";
import type { Draft, DraftHistory } from "@/lib/api/types";

/** The draft in which everybody meets; it is made when the first one opens it. */
export const mainDraftQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", name, "drafts", "main"],
    queryFn: () => api.post<Draft>(inProject(project, "prompts", name, "drafts", "main"), {}),
    staleTime: Infinity,
  });

export const historyQuery = (project: string, draft: string) =>
  queryOptions({
    queryKey: ["project", project, "drafts", draft, "history"],
    queryFn: ({ signal }) => api.get<DraftHistory>(inProject(project, "drafts", draft, "history"), signal),
    refetchInterval: 15_000,
  });

/** What the draft was at a number never changes. */
export const stateQuery = (project: string, draft: string, seq: number) =>
  queryOptions({
    queryKey: ["project", project, "draft-states", draft, seq],
    queryFn: async ({ signal }) => (await api.get<{ state: string }>(inProject(project, "drafts", draft, "states", String(seq)), signal)).state,
    staleTime: Infinity,
    gcTime: 60_000,
    placeholderData: (before) => before,
  });

export function useRestore(draft: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (seq: number) => api.post<{ seq: number }>(inProject(slug, "drafts", draft, "restore"), { seq }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["project", slug, "drafts", draft] }),
  });
}

export interface Publication {
  message: string;
}

export function usePublish(draft: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ message }: Publication) => api.post<{ version: number }>(inProject(slug, "drafts", draft, "publish"), { message, labels: [] }),
    onSuccess: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["project", slug, "prompts"], predicate: ({ queryKey }) => queryKey.at(-1) !== "main" }),
        queries.invalidateQueries({ queryKey: ["project", slug, "drafts", draft] }),
      ]),
  });
}
