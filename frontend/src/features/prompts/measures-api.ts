import { queryOptions } from "@tanstack/react-query";

import { api, inProject, withQuery } from "@/lib/api/client";
import type { PromptCall, PromptComparison, PromptMeasures, PromptTrends } from "@/lib/api/types";

const MINUTE = 60_000;

/** The start of the last `days`, to the minute: asked again within it, the answer is the same. */
export const since = (days: number): string => new Date(Math.floor(Date.now() / MINUTE) * MINUTE - days * 24 * 60 * MINUTE).toISOString();

const base = (project: string, name: string) => ["project", project, "prompts", "one", name, "measures"];

export const measuresQuery = (project: string, name: string, days: number) =>
  queryOptions({
    queryKey: [...base(project, name), days],
    queryFn: ({ signal }) => api.get<PromptMeasures>(withQuery(inProject(project, "prompts", name, "versions", "measures"), { from: since(days) }), signal),
    staleTime: MINUTE,
  });

export const comparisonQuery = (project: string, name: string, days: number, a: number, b: number) =>
  queryOptions({
    queryKey: [...base(project, name), days, "compared", a, b],
    queryFn: ({ signal }) => api.get<PromptComparison>(withQuery(inProject(project, "prompts", name, "versions", "compared"), { from: since(days), a, b }), signal),
    staleTime: MINUTE,
  });

export const callsQuery = (project: string, name: string, days: number, version: number, failed: boolean) =>
  queryOptions({
    queryKey: [...base(project, name), days, "calls", version, failed],
    queryFn: ({ signal }) =>
      api.get<{ calls: PromptCall[] }>(withQuery(inProject(project, "prompts", name, "versions", version, "calls"), { from: since(days), failed: String(failed) }), signal),
    staleTime: MINUTE,
  });

export const trendsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "trends"],
    queryFn: ({ signal }) => api.get<PromptTrends>(inProject(project, "prompt-trends"), signal),
    staleTime: 5 * MINUTE,
    retry: false,
  });
