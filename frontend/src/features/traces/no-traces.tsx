import "@/components/lists/live.css";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, SearchX } from "lucide-react";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { Empty } from "@/components/states";
import { useMay, useProject } from "@/hooks/use-project";
import { api, inProject, messageOf, withQuery } from "@/lib/api/client";
import { modelsQuery } from "@/lib/api/queries";
import type { ApiKey, Page, TraceRow } from "@/lib/api/types";
import { announce } from "@/lib/announce";
import type { TraceFilters } from "@/lib/filters";
import { firstCall } from "@/lib/snippets";

interface NoTracesProps {
  filters: TraceFilters;
  filtered: boolean;
  onChange: (filters: TraceFilters) => void;
}

export function NoTraces({ filters, filtered, onChange }: NoTracesProps) {
  const { slug } = useProject();
  const any = useQuery({
    queryKey: ["project", slug, "traces", "any"],
    queryFn: ({ signal }) => api.get<Page<TraceRow>>(withQuery(inProject(slug, "traces"), { limit: 1 }), signal),
    staleTime: 0,
  });
  if (any.isPending) return null;
  if (any.data?.data.length === 0) return <FirstTrace />;
  return (
    <Empty icon={<SearchX size={24} />} title={filtered ? "No trace fits these filters" : "No traces in this range"}>
      <p>There are traces outside of it.</p>
      <div className="form-actions">
        {filtered && <Button onClick={() => onChange({ ...filters, q: "", fields: {} })}>Clear filters</Button>}
        <Button onClick={() => onChange({ ...filters, range: "30d", from: null, to: null })}>Last 30 days</Button>
      </div>
    </Empty>
  );
}

/** The lines of code that bring the first trace, with this project's address and, once made, its key. */
function FirstTrace() {
  const { slug } = useProject();
  const queries = useQueryClient();
  const may = useMay("member");
  const models = useQuery(modelsQuery(slug));
  const create = useMutation({
    mutationFn: () => api.post<ApiKey>(inProject(slug, "keys"), { name: "First trace" }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["project", slug, "keys"] }),
    onError: (error) => announce(`No key was made: ${messageOf(error)}`, "error"),
  });
  const key = create.data?.secret_key ?? "sk-hone-…";
  const model = models.data?.[0]?.id ?? "MODEL";
  return (
    <Empty title="Call a model through Hone and its trace appears here">
      <Code wrap text={firstCall(window.location.origin, model, key)} label="Copy the code" />
      {create.data ? (
        <p>The key is shown once. Copy it now; it works until you revoke it in Settings.</p>
      ) : (
        may && (
          <Button icon={<KeyRound size={15} />} busy={create.isPending} onClick={() => create.mutate()}>
            Make a key and put it in
          </Button>
        )
      )}
      <p className="live" data-state="open">
        <i /> Waiting for your first trace
      </p>
    </Empty>
  );
}
