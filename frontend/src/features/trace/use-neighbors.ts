import { useQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { Page, TraceRow } from "@/lib/api/types";
import { decodeFilters, toQuery } from "@/lib/filters";
import { recall } from "@/lib/storage";

interface Neighbors {
  newer: string | null;
  older: string | null;
}

/** The traces above and below this one in the list it was opened from, or else in the newest of the project. */
export function useNeighbors(traceId: string): Neighbors {
  const { slug } = useProject();
  const queries = useQueryClient();
  const search = recall("traces.list", "");
  const seen = queries.getQueryData<InfiniteData<Page<TraceRow>>>(["project", slug, "traces", "list", search]);
  const listed = seen?.pages.flatMap((page) => page.data.map((row) => row.id));
  const known = listed?.includes(traceId) ?? false;
  const fetched = useQuery({
    queryKey: ["project", slug, "traces", "neighbors", search],
    queryFn: async ({ signal }) => {
      const params = toQuery(decodeFilters(new URLSearchParams(search)), Date.now());
      params.set("limit", "200");
      const page = await api.get<Page<TraceRow>>(withQuery(inProject(slug, "traces"), params), signal);
      return page.data.map((row) => row.id);
    },
    enabled: !known,
  });
  const ids = (known ? listed : fetched.data) ?? [];
  const at = ids.indexOf(traceId);
  return { newer: at > 0 ? ids[at - 1]! : null, older: at >= 0 ? (ids[at + 1] ?? null) : null };
}
