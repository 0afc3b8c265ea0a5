import "./states.css";

import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";

import { useDelayed } from "@/hooks/use-delayed";
import { messageOf } from "@/lib/api/client";

import { Button } from "./button";

/** Grey lines in the place of what comes; nothing at all for the first 150 ms. */
export function Skeleton({ rows = 8, height = 32 }: { rows?: number; height?: number }) {
  const visible = useDelayed();
  return (
    <div className="skeleton" aria-busy="true" data-visible={visible}>
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} style={{ height }}>
          <i style={{ width: `${[62, 84, 48, 72, 90, 56][index % 6]}%` }} />
        </div>
      ))}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon?: ReactNode; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      {icon}
      <h2>{title}</h2>
      {children && <div className="empty-body">{children}</div>}
    </div>
  );
}

/** What happened, what was kept, and what to do. */
export function Failure({ what, error, kept, retry }: { what: string; error: unknown; kept?: string; retry?: () => void }) {
  return (
    <div className="failure" role="alert">
      <CircleAlert size={16} aria-hidden="true" />
      <div>
        <strong>{what}</strong>
        <p>
          {messageOf(error)}
          {kept && ` ${kept}`}
        </p>
      </div>
      {retry && (
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface QueryLike<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

/** Loading, failure or content of one query; content that is there stays when a refresh fails. */
export function Loaded<T>({ query, what, skeleton, children }: { query: QueryLike<T>; what: string; skeleton?: ReactNode; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.isPending) return skeleton ?? <Skeleton />;
  return <Failure what={`${what} could not be loaded`} error={query.error} retry={() => void query.refetch()} />;
}
