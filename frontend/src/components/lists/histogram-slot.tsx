import "./histogram.css";

import { lazy, Suspense, type ComponentProps } from "react";

const Histogram = lazy(async () => ({ default: (await import("./histogram")).Histogram }));

/** The histogram's place, held from the first paint on; what draws it comes after the table. */
export function HistogramSlot(props: ComponentProps<typeof Histogram>) {
  const empty = (
    <div className="histogram" aria-hidden="true">
      <div className="histogram-area" />
      <div className="histogram-axis">{"\u00a0"}</div>
    </div>
  );
  return (
    <Suspense fallback={empty}>
      <Histogram {...props} />
    </Suspense>
  );
}
