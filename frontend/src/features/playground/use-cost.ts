import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { traceQuery } from "@/lib/api/queries";
import { mainOf } from "@/lib/call";

const TRIES = 6;
const WAIT_MS = 500;

/** What a call cost, as its trace says; null while that is unknown. */
export function useCost(traceId: string | null): string | null {
  const { slug } = useProject();
  const { data } = useQuery({
    ...traceQuery(slug, traceId ?? ""),
    enabled: traceId !== null,
    retry: TRIES, // the trace comes a moment after the answer
    retryDelay: WAIT_MS,
    staleTime: Infinity,
  });
  const total = data && mainOf(data.observations)?.cost?.total;
  return total === undefined || total === null ? null : String(total);
}
