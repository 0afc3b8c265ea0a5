import { lazy, Suspense, type ComponentType } from "react";

import { Skeleton } from "@/components/states";
import { Tabs } from "@/components/tabs";
import { useUrlValue } from "@/hooks/use-url";
import type { Draft } from "@/lib/api/types";

import { HistoryPanel } from "./history";
import { PeoplePanel } from "./people-panel";
import type { Room, RoomState } from "./room";
import { RunPanel } from "./run-panel";
import { SettingsPanel } from "./settings-panel";

const ReviewPanel = lazy(() => import("./review-panel"));
const DraftsPanel = lazy(() => import("./drafts-panel"));

export interface PanelProps {
  room: Room;
  state: RoomState;
  draft: Draft;
  /** Of the prompt. */
  name: string;
}

interface Panel {
  id: string;
  label: string;
  show: ComponentType<PanelProps>;
}

/** What stands at the right of the text: one line a panel. */
const PANELS: readonly Panel[] = [
  { id: "people", label: "People", show: PeoplePanel },
  { id: "settings", label: "Settings", show: SettingsPanel },
  { id: "run", label: "Run", show: RunPanel },
  { id: "review", label: "Review", show: ReviewPanel },
  { id: "drafts", label: "Drafts", show: DraftsPanel },
  { id: "history", label: "History", show: HistoryPanel },
];

/** The side of the room; which panel is open stands in the address. */
export function Side(props: PanelProps) {
  const [tab] = useUrlValue("tab");
  const panel = PANELS.find(({ id }) => id === tab) ?? PANELS[0]!;
  return (
    <aside className="t-side" aria-label={panel.label}>
      <Tabs label="Beside the text" tabs={PANELS} current={panel.id} />
      <div className="t-panel">
        <Suspense fallback={<Skeleton rows={4} />}>
          <panel.show {...props} />
        </Suspense>
      </div>
    </aside>
  );
}
