import type { ReactNode } from "react";

export function SectionHead({ title, text, action }: { title: string; text: ReactNode; action?: ReactNode }) {
  return (
    <div className="section-head settings-head">
      <div>
        <h2>{title}</h2>
        <p>{text}</p>
      </div>
      {action}
    </div>
  );
}
