import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { allPages } from "@/lib/api/all-pages";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { components } from "@/lib/api/schema";

import type { Price, PriceFields, PriceFound } from "./price-form";

type Schemas = components["schemas"];
export type Mask = Schemas["MaskBody"];
export type MaskFields = Schemas["MaskCreateRequest"];
export type MaskTried = Schemas["MaskTested"];

export const pricesQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prices", "all"],
    queryFn: ({ signal }) => allPages<Price>(inProject(project, "prices"), signal),
  });

export const masksQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "masks", "all"],
    queryFn: ({ signal }) => allPages<Mask>(inProject(project, "masks"), signal),
  });

/** What a model costs here. */
export const lookupQuery = (project: string, model: string) =>
  queryOptions({
    queryKey: ["project", project, "prices", "lookup", model],
    queryFn: ({ signal }) => api.get<PriceFound>(withQuery(inProject(project, "prices", "lookup"), { model }), signal),
    enabled: model !== "",
    placeholderData: (previous) => previous,
  });

function useChange<Input, Output>(what: "prices" | "masks", change: (project: string, input: Input) => Promise<Output>) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(slug, input),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["project", slug, what] }),
  });
}

export const useSavePrice = (id: string | null) =>
  useChange("prices", (project, fields: PriceFields) => (id === null ? api.post<Price>(inProject(project, "prices"), fields) : api.put<Price>(inProject(project, "prices", id), fields)));

export const useDeletePrice = () => useChange("prices", (project, id: string) => api.delete<unknown>(inProject(project, "prices", id)));

export const useSaveMask = (id: string | null) =>
  useChange("masks", (project, fields: Partial<MaskFields>) => (id === null ? api.post<Mask>(inProject(project, "masks"), fields) : api.patch<Mask>(inProject(project, "masks", id), fields)));

export const useDeleteMask = () => useChange("masks", (project, id: string) => api.delete<unknown>(inProject(project, "masks", id)));

export const tryMask = (project: string, asked: { pattern: string; replacement: string; text: string }) =>
  queryOptions({
    queryKey: ["project", project, "masks", "test", asked],
    queryFn: () => api.post<MaskTried>(inProject(project, "masks", "test"), asked),
    enabled: asked.pattern !== "",
    placeholderData: (previous) => previous,
    retry: false,
  });
