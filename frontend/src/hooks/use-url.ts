import { useCallback } from "react";
import { useSearchParams } from "wouter";

type Changes = Record<string, string | number | null | undefined>;

/** One value of the address. Setting null drops it; `push` makes the change a step for Back. */
export function useUrlValue(name: string): [string | null, (value: string | null, push?: boolean) => void] {
  const [params, change] = useUrl();
  const set = useCallback((value: string | null, push = false) => change({ [name]: value }, push), [change, name]);
  return [params.get(name), set];
}

export function useUrl(): [URLSearchParams, (changes: Changes, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (changes: Changes, push = false) =>
      setParams(
        (previous) => {
          const next = new URLSearchParams(previous);
          for (const [name, value] of Object.entries(changes)) {
            if (value === null || value === undefined || value === "") next.delete(name);
            else next.set(name, String(value));
          }
          return next;
        },
        { replace: !push },
      ),
    [setParams],
  );
  return [params, change];
}
