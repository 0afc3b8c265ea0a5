import "./tabs.css";

import { useLocation, useSearch } from "wouter";

import { Link } from "./link";

interface Tab {
  id: string;
  label: string;
  count?: number;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  current: string;
  /** Address of a tab; the default puts it into `?tab=`. */
  hrefOf?: (id: string) => string;
}

/** On a phone not all tabs fit beside each other. */
const inSight = (tab: HTMLElement | null) => tab?.scrollIntoView({ block: "nearest", inline: "nearest" });

/** Tabs whose choice is in the address. */
export function Tabs({ label, tabs, current, hrefOf }: TabsProps) {
  const [path] = useLocation();
  const search = useSearch();
  const inSearch = (id: string) => {
    const params = new URLSearchParams(search);
    if (id === tabs[0]?.id) params.delete("tab");
    else params.set("tab", id);
    const text = params.toString();
    return text ? `${path}?${text}` : path;
  };
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.id} href={(hrefOf ?? inSearch)(tab.id)} replace={!hrefOf} ref={tab.id === current ? inSight : undefined} className="tab" aria-current={tab.id === current ? "page" : undefined}>
          {tab.label}
          {tab.count !== undefined && <span className="tab-count">{tab.count.toLocaleString("en-US")}</span>}
        </Link>
      ))}
    </nav>
  );
}
