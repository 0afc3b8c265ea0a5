/** What is read from the server: one place for keys and paths, so that caches are shared and dropped right. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { allPages } from "@/lib/api/all-pages";
import { api, ApiError, inProject, withQuery } from "@/lib/api/client";
import type * as t from "@/lib/api/types";
import { plainMessages } from "@/lib/conversation";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ signal }): Promise<t.Session | null> => {
    try {
      return await api.get<t.Session>("auth/me", signal);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

const list = <T>(project: string, ...path: string[]) =>
  queryOptions({
    queryKey: ["project", project, ...path],
    queryFn: ({ signal }) => allPages<T>(inProject(project, ...path), signal),
  });

export const keysQuery = (project: string) => list<t.ApiKey>(project, "keys");
export const membersQuery = (project: string) => list<t.Member>(project, "members");
export const connectionsQuery = (project: string) => list<t.Connection>(project, "connections");
export const modelsQuery = (project: string) => ({ ...list<t.Model>(project, "models"), staleTime: 30_000 });
export const runsQuery = (project: string) => list<t.Run>(project, "runs");

export const promptsQuery = (project: string) => list<t.Prompt>(project, "prompts");

export const versionsQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", name, "versions"],
    queryFn: async ({ signal }) =>
      (await allPages<t.StoredVersion>(inProject(project, "prompts", name, "versions"), signal)).map(asEdited),
  });

function asEdited(version: t.StoredVersion): t.PromptVersion {
  const { prompt } = version;
  return { ...version, prompt: typeof prompt === "string" ? prompt : (plainMessages(prompt) ?? []) };
}

export const runQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "runs", id],
    queryFn: ({ signal }) => api.get<t.Run>(inProject(project, "runs", id), signal),
  });

export const engineQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "engine"],
    queryFn: ({ signal }) => api.get<t.Engine>(inProject(project, "engine"), signal),
    refetchInterval: 5000,
    retry: false,
  });

/** Observations of a trace that come with their payloads; of a longer one the rest follows without. */
export const FIRST_OBSERVATIONS = 200;
const MOST_OBSERVATIONS = 100_000;

/** A trace with its first observations; `next_cursor` is where the others begin. */
export const traceQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "traces", "one", id],
    queryFn: ({ signal }) => api.get<t.TraceDetail>(withQuery(inProject(project, "traces", id), { limit: FIRST_OBSERVATIONS }), signal),
    staleTime: 15_000,
  });

/** The others, a portion at a time and without payloads, so that a trace of any length is shown at once. */
export const restQuery = (project: string, id: string, start: string | null) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "traces", "one", id, "rest", start],
    queryFn: ({ pageParam, signal }) => api.get<t.TraceDetail>(withQuery(inProject(project, "traces", id), { light: "true", cursor: pageParam }), signal),
    initialPageParam: start,
    getNextPageParam: (page, pages) => (pages.length * page.observations.length < MOST_OBSERVATIONS ? page.next_cursor : null),
    enabled: start !== null,
    staleTime: 60_000,
    structuralSharing: false, // tens of thousands of rows are not compared with each other at every portion
  });

/** One observation with its payloads. */
export const observationQuery = (project: string, trace: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "traces", "one", trace, "observation", id],
    queryFn: ({ signal }) => api.get<t.Observation>(inProject(project, "traces", trace, "observations", id), signal),
    staleTime: 60_000,
  });

export const histogramQuery = (project: string, search: string, buckets: number) =>
  queryOptions({
    queryKey: ["project", project, "traces", "histogram", search, buckets],
    queryFn: async ({ signal }) => {
      const params = new URLSearchParams(search);
      params.set("buckets", String(buckets));
      return (await api.get<{ buckets: t.Bucket[] }>(withQuery(inProject(project, "traces", "histogram"), params), signal)).buckets;
    },
    placeholderData: (previous) => previous,
  });

export const facetsQuery = (project: string, search: string) =>
  queryOptions({
    queryKey: ["project", project, "traces", "facets", search],
    queryFn: ({ signal }) =>
      api.get<t.Facets>(withQuery(inProject(project, "traces", "facets"), new URLSearchParams(search)), signal),
    placeholderData: (previous) => previous,
  });

/** Scores of a trace and of its observations. */
export const scoresQuery = (project: string, traceId: string) =>
  queryOptions({
    queryKey: ["project", project, "scores", traceId],
    queryFn: ({ signal }) => allPages<t.Score>(withQuery(inProject(project, "scores"), { trace_id: traceId }), signal),
  });

/** Comments on a trace and on its observations, oldest first. */
export const commentsQuery = (project: string, traceId: string) =>
  queryOptions({
    queryKey: ["project", project, "comments", traceId],
    queryFn: ({ signal }) => allPages<t.Comment>(withQuery(inProject(project, "comments"), { trace_id: traceId }), signal),
  });

export const scoreConfigsQuery = (project: string) => list<t.ScoreConfig>(project, "score-configs");
export const datasetsQuery = (project: string) => list<t.Dataset>(project, "datasets");

/** A file, at an address that opens it for an hour. */
export const mediaQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ["project", project, "media", id],
    queryFn: ({ signal }) => api.get<t.Media>(inProject(project, "media", id), signal),
    staleTime: 30 * 60_000,
    retry: false,
  });
