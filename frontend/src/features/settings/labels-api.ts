import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject } from "@/lib/api/client";
import type { LabelUse } from "@/lib/api/types";

export const labelsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "labels"],
    queryFn: async ({ signal }) => (await api.get<{ labels: LabelUse[] }>(inProject(project, "prompt-labels"), signal)).labels,
  });

/** Label to the number of approvals that it needs. */
export const policyQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "review-policy"],
    queryFn: async ({ signal }) => (await api.get<{ labels: Record<string, number> }>(inProject(project, "review-policy"), signal)).labels,
  });

/** Both are written whole: what stands in the answer is what is in force. */
function useWhole<Input>(what: (project: string) => { queryKey: readonly unknown[] }, change: (project: string, input: Input) => Promise<unknown>) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({ mutationFn: (input: Input) => change(slug, input), onSettled: () => queries.invalidateQueries({ queryKey: what(slug).queryKey }) });
}

export const useProtectLabels = () => useWhole(labelsQuery, (project, labels: string[]) => api.put(inProject(project, "prompt-labels"), { protected: labels }));

export const useReviewPolicy = () => useWhole(policyQuery, (project, labels: Record<string, number>) => api.put(inProject(project, "review-policy"), { labels }));
