import { useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject } from "@/lib/api/client";
import { commentsQuery, scoreConfigsQuery, scoresQuery } from "@/lib/api/queries";
import type { Comment, Score, ScoreConfig, ScoreConfigCreate, ScoreCreate } from "@/lib/api/types";

export function useAddScore(traceId: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (score: ScoreCreate) => api.post<Score>(inProject(slug, "scores"), score),
    onSuccess: () => queries.invalidateQueries({ queryKey: scoresQuery(slug, traceId).queryKey }),
  });
}

export function useDeleteScore(traceId: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api.delete(inProject(slug, "scores", id)),
    onSuccess: () => queries.invalidateQueries({ queryKey: scoresQuery(slug, traceId).queryKey }),
  });
}

export function useCreateConfig() {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (config: ScoreConfigCreate) => api.post<ScoreConfig>(inProject(slug, "score-configs"), config),
    onSuccess: () => queries.invalidateQueries({ queryKey: scoreConfigsQuery(slug).queryKey }),
  });
}

export function useComments(traceId: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: commentsQuery(slug, traceId).queryKey });
  const add = useMutation({
    mutationFn: ({ content, observationId }: { content: string; observationId: string | null }) =>
      api.post<Comment>(inProject(slug, "comments"), {
        object_type: observationId ? "OBSERVATION" : "TRACE",
        object_id: observationId ?? traceId,
        ...(observationId && { trace_id: traceId }),
        content,
      }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: (id: string) => api.delete(inProject(slug, "comments", id)), onSuccess });
  return { add, remove };
}
