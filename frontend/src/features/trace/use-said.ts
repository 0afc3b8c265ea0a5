import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useLive } from "@/hooks/use-live";
import { useProject } from "@/hooks/use-project";
import { commentsQuery, scoresQuery } from "@/lib/api/queries";
import type { Observation, Score } from "@/lib/api/types";

/** What was said of a trace: scores and comments, kept fresh by the live feed. */
export function useSaid(traceId: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const scores = useQuery(scoresQuery(slug, traceId));
  const comments = useQuery(commentsQuery(slug, traceId));
  useLive(slug, "scores.changed", ({ traces }) => {
    if (traces.includes(traceId)) void queries.invalidateQueries({ queryKey: scoresQuery(slug, traceId).queryKey });
  });
  useLive(slug, "comments.changed", () => void queries.invalidateQueries({ queryKey: commentsQuery(slug, traceId).queryKey }));
  return { scores, comments };
}

/** Whether a score is about this observation or about the whole trace. */
export const isHere = (score: Score, observation: Observation): boolean => score.observation_id === null || score.observation_id === observation.id;
