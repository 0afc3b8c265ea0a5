import { useQuery } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";

import { Select } from "@/components/field";
import { Link } from "@/components/link";
import { Loaded, Skeleton } from "@/components/states";
import { Ago } from "@/components/time";
import { useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import type { PromptCall } from "@/lib/api/types";
import { formatDuration } from "@/lib/format";

import { callsQuery } from "./measures-api";

/** The newest calls of a version and those that failed; each leads to its trace. */
export function CallsOf({ name, days, called }: { name: string; days: number; called: number[] }) {
  const { slug } = useProject();
  const [asked, ask] = useUrlValue("of");
  const version = called.find((number) => String(number) === asked) ?? called[0]!;
  const all = new URLSearchParams({ prompt: name, promptversion: String(version), range: days > 7 ? "30d" : days > 1 ? "7d" : "24h" });
  return (
    <section className="pm-calls" aria-label="Calls">
      <div className="pm-compare-head">
        <h3>Calls of</h3>
        <Select aria-label="Version whose calls are shown" value={String(version)} onChange={(event) => ask(event.target.value)}>
          {called.map((number) => (
            <option key={number} value={number}>
              Version {number}
            </option>
          ))}
        </Select>
        <Link className="pm-all" href={`/p/${slug}/observations?${all}`}>
          All of them
        </Link>
      </div>
      <List title="Failed lately" query={callsQuery(slug, name, days, version, true)} none="None failed" />
      <List title="Newest" query={callsQuery(slug, name, days, version, false)} none="No calls" />
    </section>
  );
}

function List({ title, query, none }: { title: string; query: ReturnType<typeof callsQuery>; none: string }) {
  const found = useQuery(query);
  return (
    <div className="pm-list">
      <h4>{title}</h4>
      <Loaded query={found} what="The calls" skeleton={<Skeleton rows={3} height={40} />}>
        {({ calls }) =>
          calls.length === 0 ? (
            <p className="faint">{none}</p>
          ) : (
            <ol>
              {calls.map((call) => (
                <li key={call.id + call.trace_id}>
                  <Call call={call} />
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </div>
  );
}

function Call({ call }: { call: PromptCall }) {
  const { slug } = useProject();
  const failed = call.status === "error";
  return (
    <Link href={`/p/${slug}/traces/${call.trace_id}?o=${call.id}`} className="pm-call">
      <span className="pm-call-said ellipsis">{call.input_preview ?? "—"}</span>
      <span className={`pm-call-answer ellipsis ${failed ? "pm-call-failed" : "muted"}`}>
        {failed && <CircleAlert size={13} aria-label="Failed" />}
        {(failed ? call.status_message : call.output_preview) ?? "—"}
      </span>
      <span className="faint pm-call-when">
        {formatDuration(call.duration_ms)} · <Ago at={call.started_at} />
      </span>
    </Link>
  );
}
