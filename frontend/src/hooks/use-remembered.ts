import { useCallback, useState } from "react";

import { recall, remember } from "@/lib/storage";

export function useRemembered<T>(key: string, fallback: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => recall(key, fallback));
  const set = useCallback(
    (next: T) => {
      setValue(next);
      remember(key, next);
    },
    [key],
  );
  return [value, set];
}
