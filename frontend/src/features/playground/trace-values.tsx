import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Select } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, messageOf, withQuery } from "@/lib/api/client";
import { observationQuery } from "@/lib/api/queries";
import type { PromptCall } from "@/lib/api/types";
import { formatTime } from "@/lib/format";
import { valuesOfMessages } from "@/lib/template-values";

import { sentIn, type PromptSource } from "./draft";

const MONTH_MS = 30 * 24 * 60 * 60_000;
const SHOWN = 20;
const PREVIEW = 60;

const callsQuery = (project: string, { name, version }: PromptSource) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name, "calls", version],
    queryFn: async ({ signal }) => {
      const from = new Date(Math.floor(Date.now() / 60_000) * 60_000 - MONTH_MS).toISOString();
      const path = withQuery(inProject(project, "prompts", name, "versions", version, "calls"), { from, failed: "false" });
      return (await api.get<{ calls: PromptCall[] }>(path, signal)).calls.slice(0, SHOWN);
    },
    staleTime: 15_000,
  });

interface TraceValuesProps {
  source: PromptSource | null;
  onFill: (values: Record<string, string>) => void;
}

/** Fills the variables with what a call of this version was made with. */
export function TraceValues({ source, onFill }: TraceValuesProps) {
  return source && <Calls source={source} onFill={onFill} />;
}

function Calls({ source, onFill }: { source: PromptSource; onFill: TraceValuesProps["onFill"] }) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const calls = useQuery(callsQuery(slug, source)).data ?? [];
  const [chosen, setChosen] = useState("");
  if (calls.length === 0) return null;
  const choose = async (id: string) => {
    setChosen(id);
    const call = calls.find((one) => one.id === id);
    if (!call) return;
    const { input } = await queries.fetchQuery(observationQuery(slug, call.trace_id, call.id));
    const values = valuesOfMessages(source.messages, sentIn(input));
    if (values) onFill(values);
    else announce("What this call sent is not this version filled in: its values cannot be read", "error");
  };
  return (
    <Select className="trace-values" aria-label="Fill from a trace" value={chosen} onChange={(event) => void choose(event.target.value).catch((error: unknown) => announce(`The trace could not be loaded: ${messageOf(error)}`, "error"))}>
      <option value="">Fill from a trace</option>
      {calls.map((call) => (
        <option key={call.id} value={call.id}>
          {`${formatTime(call.started_at)} · ${(call.input_preview ?? "").slice(0, PREVIEW)}`}
        </option>
      ))}
    </Select>
  );
}
