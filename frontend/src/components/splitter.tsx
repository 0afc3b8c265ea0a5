import "./splitter.css";

import { useCallback, useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";

import { useRemembered } from "@/hooks/use-remembered";

interface SplitProps {
  name: string;
  label: string;
  /** Share of the first pane, 0.2 to 0.8. */
  initial: number;
  first: ReactNode;
  second: ReactNode;
}

const clamp = (share: number) => Math.min(0.8, Math.max(0.2, share));

/** Two panes with a border that the mouse or the arrow keys move; the place is remembered. */
export function Split({ name, label, initial, first, second }: SplitProps) {
  const [share, setShare] = useRemembered(`split.${name}`, initial);
  const frame = useRef<HTMLDivElement>(null);

  const drag = useCallback(
    (event: PointerEvent<HTMLDivElement>) => {
      if (!event.currentTarget.hasPointerCapture(event.pointerId) || !frame.current) return;
      const box = frame.current.getBoundingClientRect();
      setShare(clamp((event.clientX - box.left) / box.width));
    },
    [setShare],
  );

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setShare(clamp(share + step));
  };

  return (
    <div className="split" ref={frame} style={{ "--share": `${share * 100}%` } as React.CSSProperties}>
      <div className="split-pane split-first">{first}</div>
      <div
        className="split-bar"
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={20}
        aria-valuemax={80}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => setShare(initial)}
        onKeyDown={onKeyDown}
      />
      <div className="split-pane">{second}</div>
    </div>
  );
}
