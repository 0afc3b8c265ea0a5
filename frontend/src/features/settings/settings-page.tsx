import "@/components/table.css";
import "./settings.css";

import { lazy, Suspense } from "react";
import { useLocation, useParams } from "wouter";

import { Page } from "@/components/page";
import { Empty, Skeleton } from "@/components/states";
import { Tabs } from "@/components/tabs";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";

import { Connections } from "./connections";
import { Keys } from "./keys";
import { Masks } from "./masks";
import { Members } from "./members";
import { Prices } from "./prices";

const PromptLabels = lazy(() => import("./prompt-labels"));
const Retention = lazy(() => import("./retention"));

const TABS = [
  { id: "keys", label: "API keys", Content: Keys },
  { id: "connections", label: "Connections", Content: Connections },
  { id: "members", label: "Members", Content: Members },
  { id: "prompts", label: "Prompts", Content: PromptLabels },
  { id: "prices", label: "Prices", Content: Prices },
  { id: "masks", label: "Masks", Content: Masks },
  { id: "retention", label: "Retention", Content: Retention },
] as const;

export default function SettingsPage() {
  const { slug } = useProject();
  const { tab = "keys" } = useParams<{ tab: string }>();
  const [, go] = useLocation();
  const hrefOf = (id: string) => `/p/${slug}/settings/${id}`;
  const at = TABS.findIndex(({ id }) => id === tab);
  const current = TABS[at];
  const turn = (by: number) => go(hrefOf(TABS[(at + by + TABS.length) % TABS.length]!.id));
  useHotkey("]", "Next tab", () => turn(1));
  useHotkey("[", "Previous tab", () => turn(-1));
  return (
    <Page title="Settings">
      <Tabs label="Settings" tabs={TABS} current={tab} hrefOf={hrefOf} />
      <div className="page-body">
        <div className="page-column"><Suspense fallback={<Skeleton rows={6} />}>{current ? <current.Content /> : <Empty title="There is no such setting" />}</Suspense></div>
      </div>
    </Page>
  );
}
