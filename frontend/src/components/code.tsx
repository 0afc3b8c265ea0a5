import "./code.css";

import { CopyButton } from "./copy";

/** A block of code that can be copied whole. */
export function Code({ text, label = "Copy code", wrap = false }: { text: string; label?: string; wrap?: boolean }) {
  return (
    <div className="code">
      <pre tabIndex={0} className={wrap ? "code-wrap" : ""}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}
