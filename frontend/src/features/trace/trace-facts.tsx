import type { ReactNode } from "react";

import { Badge } from "@/components/badge";
import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";
import type { Trace } from "@/lib/api/types";
import { inPath } from "@/lib/paths";

/** Whose trace it is and where it comes from; what was not sent takes no room. */
export function TraceFacts({ trace }: { trace: Trace }) {
  const { slug } = useProject();
  const { user_id, session_id, environment, release, version, tags } = trace;
  const facts: [string, ReactNode][] = [
    ["Session", session_id && <Link href={`/p/${slug}/sessions/${inPath(session_id)}`}>{session_id}</Link>],
    ["User", user_id && <Link href={`/p/${slug}/users/${inPath(user_id)}`}>{user_id}</Link>],
    ["Environment", environment !== "default" && environment],
    ["Release", release],
    ["Version", version],
    ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag}>{tag}</Badge>)],
  ];
  const known = facts.filter(([, value]) => Boolean(value));
  if (known.length === 0) return null;
  return (
    <dl className="trace-facts" aria-label="About the trace">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
