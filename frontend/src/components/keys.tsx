import { keyCaps } from "@/lib/hotkeys";

/** Key caps; the control itself carries aria-keyshortcuts, so readers of the screen skip these. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="keys" aria-hidden="true">
      {keyCaps(keys).map((cap, index) => (
        <kbd key={index}>{cap}</kbd>
      ))}
    </span>
  );
}
