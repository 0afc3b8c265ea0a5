import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { allPages } from "@/lib/api/all-pages";
import { api, ApiError, inProject, withQuery } from "@/lib/api/client";
import type { LabelUse, Prompt, PromptArm, PromptVersion } from "@/lib/api/types";

import { toSend, type Content } from "./content";

export const promptQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name],
    queryFn: ({ signal }) => api.get<Prompt>(inProject(project, "prompts", name), signal),
  });

/** A change of the project's prompts; what lists show of them is read again. */
function useChange<Input, Output>(change: (project: string, input: Input) => Promise<Output>) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(slug, input),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["project", slug, "prompts"] }),
  });
}

/** Whether something was not taken away because other prompts include it. */
export const isIncluded = (error: unknown): error is ApiError => error instanceof ApiError && error.code === "included";

interface NewPrompt {
  name: string;
  content: Content;
  message: string;
}

export const useCreatePrompt = () =>
  useChange((project, { name, content, message }: NewPrompt) =>
    api.post<Prompt>(inProject(project, "prompts"), { name, ...toSend(content), message, labels: [], tags: [] }),
  );

export const useSaveVersion = (name: string) =>
  useChange((project, { content, message, parent }: { content: Content; message: string; parent: number }) =>
    api.post<PromptVersion>(inProject(project, "prompts", name, "versions"), { ...toSend(content), message, labels: [], parent }),
  );

export interface LabelChange {
  label: string;
  /** Null takes the label off. */
  version: number | null;
}

export const useLabel = (name: string) =>
  useChange((project, { label, version }: LabelChange) => {
    const path = inProject(project, "prompts", name, "labels", label);
    return version === null ? api.delete<unknown>(path) : api.put<unknown>(path, { version });
  });

/** Two or more versions under one label, by weight; the first is for whoever names nobody. */
export const useSplit = (name: string) =>
  useChange((project, { label, arms, reshuffle }: { label: string; arms: PromptArm[]; reshuffle: boolean }) =>
    api.put<unknown>(inProject(project, "prompts", name, "labels", label, "split"), { arms, reshuffle }),
  );

export const labelUsesQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "labels"],
    queryFn: async ({ signal }) => (await api.get<{ labels: LabelUse[] }>(inProject(project, "prompt-labels"), signal)).labels,
  });

export const useProtect = () =>
  useChange((project, labels: string[]) => api.put<unknown>(inProject(project, "prompt-labels"), { protected: labels }));

export const useArchive = (name: string) =>
  useChange((project, archived: boolean) => api.patch<Prompt>(inProject(project, "prompts", name), { archived }));

export const useCopy = (name: string) =>
  useChange((project, { version, to }: { version: number; to: string }) =>
    api.post<Prompt>(inProject(project, "prompts", name, "versions", version, "copy"), { name: to }),
  );

/** Names of the prompts whose text says it; the list itself knows only names, tags and labels. */
export const sayingQuery = (project: string, text: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "saying", text],
    queryFn: async ({ signal }) => {
      const page = await api.get<{ data: Prompt[] }>(withQuery(inProject(project, "prompts"), { q: text, limit: 100 }), signal);
      return page.data.map((prompt) => prompt.name);
    },
    enabled: text.length >= 3,
    staleTime: 30_000,
  });

export const archivedQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "archived"],
    queryFn: ({ signal }) => allPages<Prompt>(`${inProject(project, "prompts")}?archived=true`, signal),
  });

export const useTags = (name: string) =>
  useChange((project, tags: string[]) => api.patch<Prompt>(inProject(project, "prompts", name), { tags }));

/** Deletes a prompt; `onGone` leaves its page before anything is read again, which would be a 404. */
export function useDeletePrompt(name: string, onGone: () => void) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => api.delete(inProject(slug, "prompts", name)),
    onSuccess: () => {
      onGone();
      return queries.invalidateQueries({
        queryKey: ["project", slug, "prompts"],
        predicate: ({ queryKey }) => !(queryKey[3] === "one" && queryKey[4] === name),
      });
    },
  });
}
