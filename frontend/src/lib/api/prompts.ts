/** Whole lists of prompts and versions, for the pages that choose among them. */

import { queryOptions } from "@tanstack/react-query";

import { allPages } from "@/lib/api/all-pages";
import { api, inProject } from "@/lib/api/client";
import type { Prompt, PromptGraph, PromptVersion } from "@/lib/api/types";

/** Address of a prompt's page; slashes of the name stay slashes. */
export const promptHref = (project: string, name: string): string =>
  `/p/${project}/prompts/${name.split("/").map(encodeURIComponent).join("/")}`;

/** Address of the room in which a prompt is written together. */
export const togetherHref = (project: string, name: string, draft?: string): string =>
  promptHref(project, name).replace("/prompts/", "/together/") + (draft ? `?draft=${draft}` : "");

export const allPromptsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "all"],
    queryFn: ({ signal }) => allPages<Prompt>(inProject(project, "prompts"), signal),
  });

/** Newest first. */
export const allVersionsQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name, "versions"],
    queryFn: async ({ signal }) => {
      const versions = await allPages<PromptVersion>(inProject(project, "prompts", name, "versions"), signal);
      return versions.sort((a, b) => b.version - a.version);
    },
  });

/** The newest versions with what each was made of, and the open drafts on them. */
export const graphQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name, "graph"],
    queryFn: ({ signal }) => api.get<PromptGraph>(inProject(project, "prompts", name, "drafts", "graph"), signal),
  });
