import "./view-tabs.css";

import type { KeyboardEvent, ReactNode } from "react";

interface TabsProps<View extends string> {
  label: string;
  views: Record<View, string>;
  current: View;
  onChange: (view: View) => void;
}

/** Views of one thing: the arrow keys go from one to the next, as in every tab list. */
export function ViewTabs<View extends string>({ label, views, current, onChange }: TabsProps<View>) {
  const ids = Object.keys(views) as View[];
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (ids.indexOf(current) + step + ids.length) % ids.length;
    onChange(ids[next]!);
    event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
  };
  return (
    <div className="view-tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {ids.map((id) => (
        <button key={id} type="button" id={`tab-${id}`} role="tab" className="view-tab" aria-selected={id === current} aria-controls="view-panel" tabIndex={id === current ? 0 : -1} onClick={() => onChange(id)}>
          {views[id]}
        </button>
      ))}
    </div>
  );
}

export function ViewPanel({ current, className, children }: { current: string; className: string; children: ReactNode }) {
  return (
    <div id="view-panel" role="tabpanel" aria-labelledby={`tab-${current}`} className={className} tabIndex={0}>
      {children}
    </div>
  );
}
