import "./list-tabs.css";

import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";

const TABS = { traces: "Traces", observations: "Observations", sessions: "Sessions", users: "Users" } as const;
export type ListPage = keyof typeof TABS;

/** The four lists that tell of the same calls. */
export function ListTabs({ current }: { current: ListPage }) {
  const { slug } = useProject();
  return (
    <nav className="list-tabs" aria-label="Lists">
      {(Object.keys(TABS) as ListPage[]).map((page) => (
        <Link key={page} href={`/p/${slug}/${page}`} className="list-tab" aria-current={page === current ? "page" : undefined}>
          {TABS[page]}
        </Link>
      ))}
    </nav>
  );
}
