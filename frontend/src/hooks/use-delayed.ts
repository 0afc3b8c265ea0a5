import { useEffect, useState } from "react";

/** False at first, true after the wait: what comes quickly never flashes a skeleton. */
export function useDelayed(ms = 150): boolean {
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setPassed(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return passed;
}
