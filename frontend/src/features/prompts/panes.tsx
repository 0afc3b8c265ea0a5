import type { ReactNode } from "react";

import { Split } from "@/components/splitter";
import { Tabs } from "@/components/tabs";
import { useIsPhone } from "@/hooks/use-media";
import { useUrlValue } from "@/hooks/use-url";

interface Pane {
  id: string;
  label: string;
  count?: number;
  content: ReactNode;
}

/** The text beside what belongs to it; on a phone the text is the first of the tabs. */
export function Panes({ left, tabs }: { left: ReactNode; tabs: Pane[] }) {
  const phone = useIsPhone();
  const [asked] = useUrlValue("tab");
  const all = phone ? [{ id: "edit", label: "Edit", content: left }, ...tabs] : tabs;
  const current = all.find((tab) => tab.id === asked) ?? all[0]!;
  const side = (
    <div className="p-side-pane">
      <Tabs label="About this prompt" tabs={all} current={current.id} />
      <div className="p-side-body">{current.content}</div>
    </div>
  );
  return phone ? side : <Split name="prompt" label="Width of the editor" initial={0.58} first={left} second={side} />;
}
