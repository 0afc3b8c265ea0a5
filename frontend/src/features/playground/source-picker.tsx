import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";

import { Badge } from "@/components/badge";
import { Select } from "@/components/field";
import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { promptsQuery, versionsQuery } from "@/lib/api/queries";

import type { PromptSource } from "./draft";

/** Which prompt and version are being tried, and whether they were changed since. */
export function SourcePicker({ source, changed }: { source: PromptSource | null; changed: boolean }) {
  const { slug } = useProject();
  const [params] = useUrl();
  const [, go] = useLocation();
  const prompts = useQuery(promptsQuery(slug)).data ?? [];
  const trace = params.get("trace");
  const open = (query: Record<string, string>) => go(`/p/${slug}/playground?${new URLSearchParams(query)}`);
  return (
    <div className="source">
      <Select className="source-prompt" aria-label="Prompt" value={source?.name ?? ""} onChange={(event) => open(event.target.value ? { prompt: event.target.value } : {})}>
        <option value="">{trace ? "From a trace" : "No prompt"}</option>
        {prompts.map((prompt) => (
          <option key={prompt.name}>{prompt.name}</option>
        ))}
      </Select>
      {source && <OfPrompt source={source} changed={changed} onVersion={(version) => open({ prompt: source.name, version })} />}
      {trace && (
        <Link className="source-link" href={`/p/${slug}/traces/${trace}`}>
          Back to the trace
        </Link>
      )}
    </div>
  );
}

function OfPrompt({ source, changed, onVersion }: { source: PromptSource; changed: boolean; onVersion: (version: string) => void }) {
  const { slug } = useProject();
  const versions = useQuery(versionsQuery(slug, source.name)).data ?? [];
  return (
    <>
      <Select aria-label="Version" value={source.version} onChange={(event) => onVersion(event.target.value)}>
        {versions.map((v) => (
          <option key={v.version} value={v.version}>
            {[`v${v.version}`, ...v.labels].join(" · ")}
          </option>
        ))}
      </Select>
      {changed && (
        <Badge tone="warning" title="Runs send the messages as they are here, without naming the version">
          edited
        </Badge>
      )}
      <Link className="source-link" href={`/p/${slug}/prompts/${source.name}?v=${source.version}`}>
        Open prompt
      </Link>
    </>
  );
}
