import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { components } from "@/lib/api/schema";
import type { Page } from "@/lib/api/types";

import { isOpen } from "./erasing";

type Schemas = components["schemas"];
export type Retention = Schemas["RetentionBody"];
export type Older = Schemas["OlderBody"];
export type Erasure = Schemas["ErasureBody"];
export type ErasureAsked = Schemas["ErasureCreateRequest"];

const LOOK_MS = 1000;
const SHOWN = 20;

export const retentionQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "retention"],
    queryFn: ({ signal }) => api.get<Retention>(inProject(project, "retention"), signal),
  });

/** What would go if traces were kept for so many days. */
export const olderQuery = (project: string, days: number | null) =>
  queryOptions({
    queryKey: ["project", project, "retention", "older", days],
    queryFn: ({ signal }) => api.get<Older>(withQuery(inProject(project, "retention", "older"), { days: String(days) }), signal),
    enabled: days !== null,
    placeholderData: keepPreviousData,
  });

/** The newest erasures, looked at again while one is under way. */
export const erasuresQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "erasures"],
    queryFn: async ({ signal }) => (await api.get<Page<Erasure>>(withQuery(inProject(project, "erasures"), { limit: SHOWN }), signal)).data,
    refetchInterval: ({ state }) => (state.data?.some(isOpen) ? LOOK_MS : false),
  });

function useChange<Input, Output>(change: (project: string, input: Input) => Promise<Output>) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(slug, input),
    onSuccess: () => Promise.all(["retention", "erasures"].map((what) => queries.invalidateQueries({ queryKey: ["project", slug, what] }))),
  });
}

export const useSetRetention = () => useChange((project, days: number | null) => api.put<Retention>(inProject(project, "retention"), { days }));

export const useErase = () => useChange((project, asked: ErasureAsked) => api.post<Erasure>(inProject(project, "erasures"), asked));
