import type { InputHTMLAttributes } from "react";

/** A checkbox with its words. */
export function Check({ label, ...rest }: { label: string } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="p-check">
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}
